/** What a report before a takeover says of one thing of the site. */
import { posix } from "node:path";
import type { Setting } from "../config/files/settings.ts";
import type { PluginKind } from "../config/options/site-python.ts";

/**
 * `kept`: goes on as with Salt. `changed`: goes on, in another way. `lost`: ends, because it is not built here. `unread`: could not be read, so that
 * nothing is known of it.
 */
export type Verdict = "kept" | "changed" | "lost" | "unread";

/** `name`: an option, a file, a module or a directory. `place`: file and line, or a directory. */
export type Finding = {
  readonly verdict: Verdict;
  readonly name: string;
  readonly place?: string;
  readonly about: string;
  /** What is lost here and the operator's own Salt may run. They are looked up before the report is shown. */
  readonly plugins?: readonly Plugin[];
};

/** The place of a setting as findings show it. */
export function placeOf({ file, line }: Pick<Setting, "file" | "line">): string {
  return `${posix.normalize(file)}:${line}`;
}

/** The place of a setting, if the configuration has it. */
export function placed(setting: Setting | undefined): Pick<Finding, "place"> {
  return setting === undefined ? {} : { place: placeOf(setting) };
}

/** `kind`: as the sidecar asks Salt's loader for it. */
export type Plugin = {
  readonly kind:
    | PluginKind
    | "sdb"
    | "functions"
    | "runner"
    | "wheel"
    | "runner_module"
    | "wheel_module"
    | "caller"
    | "returner_module"
    | "outputters"
    | "queues";
  readonly name: string;
};

/** Findings on one subject, such as the configuration. */
export type Chapter = { readonly subject: string; readonly findings: readonly Finding[] };

export type Outcome = "nothing lost" | "lost" | "unread";

export function outcomeOf(chapters: readonly Chapter[]): Outcome {
  const verdicts = new Set(chapters.flatMap(({ findings }) => findings.map(({ verdict }) => verdict)));
  if (verdicts.has("lost")) return "lost";
  return verdicts.has("unread") ? "unread" : "nothing lost";
}

export function unread(name: string, place: string, about: string): Finding {
  return { verdict: "unread", name, place, about };
}

/** Runs a look into the site. A file or directory that cannot be read becomes a finding. */
export function looked(name: string, place: string, look: () => readonly Finding[]): readonly Finding[] {
  try {
    return look();
  } catch (error) {
    return [unread(name, place, error instanceof Error ? error.message : String(error))];
  }
}
