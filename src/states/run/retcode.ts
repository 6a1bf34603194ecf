/** Whether a run was good: its retcode. A failed state is forgiven if a state with `onfail` and `onfail_stop: False` handled it. */
import { strOf } from "../../python/repr.ts";
import type { Value } from "../../wire/values.ts";
import type { HighData } from "../compile/contract.ts";
import { argumentsOf, firstOf, statesOf } from "../compile/read.ts";
import type { Results } from "./contract.ts";

export function isGood(results: Results, high: HighData | undefined): boolean {
  if (results.size === 0) return false;
  return [...results].every(([tag, result]) => result.get("result") !== false || isHandled(tag, results, high));
}

function isHandled(tag: string, results: Results, high: HighData | undefined): boolean {
  const [module = "", id = ""] = tag.split("_|-");
  let isFine = false;
  for (const [handler, body] of high ?? []) {
    if (handler === id) continue;
    for (const [state, run] of statesOf(body)) {
      if (!continues(argumentsOf(run)) || !catches(argumentsOf(run), module, id)) continue;
      isFine = false;
      for (const [other, result] of results) {
        const [otherModule, otherId] = other.split("_|-");
        if (otherModule !== state || otherId !== strOf(handler)) continue;
        if (result.get("result") === true) isFine = true;
        if (result.get("result") === false) return false;
      }
    }
  }
  return isFine;
}

function continues(run: readonly Value[]): boolean {
  return run.some((argument) => argument instanceof Map && argument.get("onfail_stop") === false);
}

function catches(run: readonly Value[], module: string, id: string): boolean {
  return run.some((argument) =>
    argumentsOf(argument instanceof Map ? argument.get("onfail") : undefined).some((requisite) => {
      const [kind, name] = firstOf(requisite) ?? [];
      return kind === module && name === id;
    }),
  );
}
