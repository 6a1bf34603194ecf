/** What the options and words of a command line say of a job's target, and of the waiting for it. Source: docs/compatibility.md, target types. */
import type { JobRequest } from "../../client/job-request.ts";
import type { MasterConfig } from "../../config/schema.ts";

/** A list is split at commas, blanks around them dropped, or at blanks where there is no comma; every other kind is the word itself. */
export function targetExpression(kind: string, word: string): string | string[] {
  if (kind !== "list") return word;
  if (word.includes(",")) return word.replaceAll(" ", "").split(",");
  return word.split(/\s+/u).filter((name) => name !== "");
}

/** The kind of target: that of the flag which is set; the keys of `flags`, a table of options, are the kinds. */
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
