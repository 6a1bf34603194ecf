/** Reads a minion's answer to `saltutil.find_job`. docs/protocol.md section 9. */
import { SaltworksError } from "../../errors.ts";
import { loadMembersMax } from "../../limits.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { headOf, mapEntries } from "../../wire/walk.ts";
import type { FindJobAnswer } from "./tracker.ts";

/**
 * `body`: the return's load. It holds the record of the running job, or an empty map. A body that is not a map, or has more members than a load, counts
 * as a fault. Only the head of `return` is read, because all clients wait for the thread that reads it.
 */
export function readFindJobAnswer(id: string, body: Uint8Array): FindJobAnswer {
  try {
    let runsStill = false;
    let isFault = false;
    for (const { key, valueStart, valueEnd } of mapEntries(body, loadMembersMax)) {
      const { kind, count } = headOf(body, valueStart);
      if (key === "return") runsStill = kind === "map" && count > 0;
      if (key === "retcode") isFault = kind === "other" && isPositive(decode(body.subarray(valueStart, valueEnd)));
    }
    return { id, runsStill, isFault };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { id, runsStill: false, isFault: true };
  }
}

function isPositive(value: Value): boolean {
  return typeof value === "number" && value > 0;
}
