/** Reads the master's options for pillars. docs/pillar.md lists the refused ones. */
import { join } from "node:path";
import type { MasterConfig } from "../../config/load.ts";
import { pillarErrors } from "../../config/options/unbuilt.ts";
import { masterOptions } from "../../config/schema.ts";
import { isTrue } from "../../python/values.ts";
import { type Nodegroups, readNodegroups } from "../../target/nodegroups.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { SitePython } from "../in-python/ask-python.ts";
import type { LexerOptions } from "../jinja/syntax/lexer.ts";
import { type GpgSettings, type PillarDecryption, readDecryptPillar } from "./decryption.ts";
import { type Merge, mergeBy } from "./merge.ts";

export type PillarSettings = {
  /** Directories by environment, in the order of the file. `base` is always there. */
  readonly roots: ReadonlyMap<string, readonly string[]>;
  /** Directories of served files, for templates that read them. */
  readonly fileRoots: ReadonlyMap<string, readonly string[]>;
  readonly topFile: string;
  readonly renderer: string;
  /** Jinja's options for SLS files (`jinja_sls_env`), and for top files and texts of external sources (`jinja_env`). */
  readonly jinjaOfSls: LexerOptions;
  readonly jinjaOfOthers: LexerOptions;
  readonly nodegroups: Nodegroups;
  readonly pillarenv: string | undefined;
  readonly followsSaltenv: boolean;
  readonly environmentOrder: readonly string[];
  readonly joinsLists: boolean;
  /** `pillar_source_merging_strategy` with `pillar_merge_lists`. */
  readonly merge: Merge;
  /** Whether only one environment is read (strategy `none`). */
  readonly isOneEnvironment: boolean;
  readonly includesOverride: boolean;
  readonly hidesErrors: boolean;
  /** Whether `pillar.get` fails for a missing key without a default. */
  readonly raisesOnMissing: boolean;
  readonly addsOptions: boolean;
  /** `ext_pillar` as configured: maps from a source's name to its arguments. */
  readonly sources: readonly Value[];
  /** Whether external sources are merged before files. */
  readonly sourcesFirst: boolean;
  readonly excludedSources: readonly string[];
  readonly onDemandSources: readonly string[];
  /** Whether a failing command leaves no error in the pillar. */
  readonly ignoresFailures: boolean;
  /** The site's own Python, where it can be asked. */
  readonly python?: SitePython | undefined;
  readonly gpg: GpgSettings;
  /** Which values are decrypted at the end; undefined: none. */
  readonly decryptPillar: PillarDecryption | undefined;
  /** Errors that every pillar gets: configured sources that do not exist here. */
  readonly errors: readonly string[];
  /** An option with its secrets, for the connections of external sources. */
  readonly option: (name: string) => unknown;
  /** Returns every option that is not secret, for templates. Each call returns a new map, because templates may change it. */
  readonly opts: () => ValueMap;
};

function toValue(value: unknown): Value {
  if (value === null || typeof value !== "object") return (value ?? null) as Value;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(toValue);
  return new Map(Object.entries(value).map(([key, member]): [Value, Value] => [key, toValue(member)]));
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Salt's options whose maps and lists hold passwords beside other values: those of external sources, and the sources themselves. */
const optionsWithSecrets = ["ext_pillar", "gitfs_remotes", "mysql", "postgres"];
const secretOptions = new Set([
  ...Object.entries(masterOptions).flatMap(([name, option]) => (option.isSecret === true ? [name] : [])),
  ...optionsWithSecrets,
]);
/** Settings of `external_auth` that are secrets. */
const secretSetting = /^\^(?:client_secret|password|bindpw)$/;

function withoutSecretSettings(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutSecretSettings);
  if (!(value instanceof Map)) return value;
  const kept = [...value].filter(([name]) => typeof name !== "string" || !secretSetting.test(name));
  return new Map(kept.map(([name, member]): [Value, Value] => [name, withoutSecretSettings(member)]));
}

function shownOption(name: string, value: unknown): Value {
  return name === "external_auth" ? withoutSecretSettings(toValue(value)) : toValue(value);
}

/** Reads Jinja's two white-space options. The old names (`jinja_trim_blocks`) apply to all files, those in `name` to some. */
function jinjaOptions(opts: ReadonlyMap<string, unknown>, name: "jinja_env" | "jinja_sls_env"): LexerOptions {
  const isSet = (flag: string) =>
    isTrue(toValue(opts.get(`jinja_${flag}`))) ||
    entriesOf(opts.get(name)).some(([key, value]) => key.toLowerCase() === flag && isTrue(toValue(value)));
  return { trimBlocks: isSet("trim_blocks"), lstripBlocks: isSet("lstrip_blocks") };
}

function rootsOf(option: unknown): ReadonlyMap<string, readonly string[]> {
  const roots = new Map<string, readonly string[]>([["base", []]]);
  for (const [name, directories] of entriesOf(option)) roots.set(name, textsOf(directories));
  return roots;
}

/** The pillar environment of a request. */
export function pillarenvOf(
  settings: Pick<PillarSettings, "followsSaltenv" | "pillarenv">,
  { saltenv, pillarenv }: { readonly saltenv: string | undefined; readonly pillarenv: string | undefined },
): string | undefined {
  return (pillarenv ?? (settings.followsSaltenv ? saltenv : undefined) ?? settings.pillarenv) || undefined;
}

function decryptionOf(config: MasterConfig): PillarDecryption | undefined {
  const { decrypt_pillar: option } = config;
  if (!isTrue(toValue(option))) return undefined;
  return {
    paths: readDecryptPillar(option),
    delimiter: config.decrypt_pillar_delimiter,
    byDefault: config.decrypt_pillar_default,
    renderers: textsOf(config.decrypt_pillar_renderers),
  };
}

/** `place`: whose configuration this is. A minion without a master compiles its own pillar. */
export function pillarSettings(config: MasterConfig, place: "master" | "minion" = "master"): PillarSettings {
  const opts: ReadonlyMap<string, unknown> = config.opts;
  const visible = [...opts].filter(([name]) => !secretOptions.has(name));
  return {
    roots: rootsOf(config.pillar_roots),
    fileRoots: rootsOf(config.file_roots),
    topFile: config.state_top.replace(/^salt:\/\//, "").replace(/^\/+/, ""),
    renderer: config.renderer,
    jinjaOfSls: jinjaOptions(opts, "jinja_sls_env"),
    jinjaOfOthers: jinjaOptions(opts, "jinja_env"),
    nodegroups: readNodegroups(config.nodegroups),
    pillarenv: config.pillarenv ?? undefined,
    followsSaltenv: config.pillarenv_from_saltenv,
    environmentOrder: textsOf(config.env_order),
    joinsLists: config.pillar_merge_lists,
    merge: mergeBy(config.pillar_source_merging_strategy, config.renderer, config.pillar_merge_lists),
    isOneEnvironment: config.pillar_source_merging_strategy === "none",
    includesOverride: config.pillar_includes_override_sls,
    hidesErrors: config.pillar_safe_render_error,
    raisesOnMissing: isTrue(toValue(opts.get("pillar_raise_on_missing"))),
    addsOptions: config.pillar_opts,
    sources: config.ext_pillar.map(toValue),
    sourcesFirst: config.ext_pillar_first,
    excludedSources: textsOf(config.exclude_ext_pillar),
    onDemandSources: textsOf(config.on_demand_ext_pillar),
    ignoresFailures: config.ext_pillar_failures === "ignore",
    gpg: {
      keyDirectory: config.gpg_keydir ?? join(config.configDir, "gpgkeys"),
      keptMs: config.gpg_cache ? config.gpg_cache_ttl * 1_000 : 0,
      mustSucceed: config.gpg_decrypt_must_succeed,
    },
    decryptPillar: decryptionOf(config),
    errors: pillarErrors(config.unbuilt, place),
    option: (name) => opts.get(name),
    opts: () => new Map(visible.map(([name, value]): [Value, Value] => [name, shownOption(name, value)])),
  };
}
