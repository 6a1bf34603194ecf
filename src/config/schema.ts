/**
 * The type of a loaded configuration, for both roles. Its tables are options/master.ts and options/minion.ts; docs/config.md is generated from them.
 */
import { masterOptions } from "./options/master.ts";
import { minionOptions } from "./options/minion.ts";
import type { ValuesOf } from "./options/option.ts";
import type { SitePlugin } from "./options/site-python.ts";
import type { UnbuiltSetting } from "./options/unbuilt.ts";
import type { SdbValue } from "./sdb.ts";
import type { ConfigValue } from "./yaml/values.ts";

/** An invalid value and its place. */
export type Fault = { readonly file: string; readonly line: number; readonly message: string };

export { masterOptions, minionOptions };

/** Facts about a loaded configuration in addition to its options. */
export type ConfigSource = {
  /** Every key as Salt would see it, including unknown ones: operators keep their own settings in the file. */
  readonly opts: ReadonlyMap<string, ConfigValue>;
  /** Sentences for the log: misspelt names, ignored values. */
  readonly warnings: readonly string[];
  /** Sentences for the log: options that the file sets and that have no effect in this release. */
  readonly inert: readonly string[];
  /** Options of options/unbuilt.ts that the file sets. A minion without a master reports them in its own pillar. */
  readonly unbuilt: readonly UnbuiltSetting[];
  /** Plug-ins of the site in Python that the sidecar serves. They are not in `unbuilt`. */
  readonly sitePlugins: readonly SitePlugin[];
  /** Values that stand elsewhere and are not looked up yet (`sdb://`). */
  readonly sdbValues: readonly SdbValue[];
  /** The Python with Salt, once it was looked for and found. */
  readonly sitePython: string | undefined;
  /** Values with which a master does not start. */
  readonly startFaults: readonly Fault[];
  /** True if no file sets `id`, so that it comes from this host's name. */
  readonly isIdComputed: boolean;
  /** Directory that was named with `-c`. */
  readonly configDir: string;
  /** The main file in it, which may be missing. */
  readonly configFile: string;
};
export type MasterConfig = ValuesOf<typeof masterOptions> & ConfigSource;
export type MinionConfig = ValuesOf<typeof minionOptions> & ConfigSource;
