/** Reads a job's target and its times from options and words. Source: docs/compatibility.md, "Targeting". */
import type { JobRequest } from "../../client/job-request.ts";
import type { MasterConfig } from "../../config/schema.ts";

/** For the kind `list`: splits at commas and removes all blanks, or splits at blanks if there is no comma. Other kinds: the word itself. */
export function targetExpression(kind: string, word: string): string | string[] {
  if (kind !== "list") return word;
  if (word.includes(",")) return word.replaceAll(" ", "").split(",");
  return word.split(/\s+/u).filter((name) => name !== "");
}

/** The target kind of the option that is set. `flags`: a table of options with kinds as keys. */
export function targetKindOf<Kind extends string>(
  flags: { readonly [kind in Kind]: unknown },
  options: { readonly [kind in NoInfer<Kind>]: boolean },
): Kind | "glob" {
  return (Object.keys(flags) as Kind[]).find((kind) => options[kind]) ?? "glob";
}

/** `-t 0` means the configured time, as in Salt. */
export function followTimes(
  timeoutSeconds: number | undefined,
  gatherTimeoutSeconds: number | undefined,
  config: Pick<MasterConfig, "timeout" | "gather_job_timeout">,
): NonNullable<JobRequest["follow"]> {
  return {
    timeoutSeconds: timeoutSeconds === undefined || timeoutSeconds <= 0 ? config.timeout : timeoutSeconds,
    gatherTimeoutSeconds: gatherTimeoutSeconds ?? config.gather_job_timeout,
  };
}
