/** Runner `doc`: the documentation of runner, wheel and execution functions. */
import type { Encodable } from "../../wire/values.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { docTexts } from "../contract/doc-text.ts";
import { runJob } from "../contract/run-job.ts";

/** Merges the answers of all minions, because their functions may differ. */
async function execution(context: RunnerContext): Promise<Encodable> {
  const { returns } = await runJob(context, { fun: "sys.doc", arg: [], target: "*", targetKind: "glob" });
  const docs = new Map<Encodable, Encodable>();
  for (const value of returns.values()) if (value instanceof Map) for (const [name, doc] of value) docs.set(name, doc);
  return new Map([...docs].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

/** Takes the tables as arguments, because this runner is in one of them. */
export function docRunner(
  runners: () => Iterable<readonly [string, RunnerFunction]>,
  wheels: () => Iterable<readonly [string, RunnerFunction]>,
): ReadonlyMap<string, RunnerFunction> {
  return new Map<string, RunnerFunction>([
    [
      "doc.runner",
      {
        parameters: [],
        doc: "Documentation of every runner function.",
        isOffline: true,
        run: () => docTexts(runners()),
      },
    ],
    [
      "doc.wheel",
      { parameters: [], doc: "Documentation of every wheel function.", isOffline: true, run: () => docTexts(wheels()) },
    ],
    [
      "doc.execution",
      { parameters: [], doc: "Documentation of every execution function that minions have.", run: execution },
    ],
  ]);
}
