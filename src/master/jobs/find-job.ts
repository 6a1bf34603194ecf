/** Reads a minion's answer to `saltutil.find_job`. docs/protocol.md section 9. */
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { FindJobAnswer } from "./tracker.ts";

/** `body`: the return's load. It holds the record of the running job, or an empty map. A body that cannot be decoded counts as a fault. */
export function readFindJobAnswer(id: string, body: Uint8Array): FindJobAnswer {
  const load = decoded(body);
  if (!(load instanceof Map)) return { id, runsStill: false, isFault: true };
  const value = load.get("return");
  const retcode = load.get("retcode");
  return { id, runsStill: value instanceof Map && value.size > 0, isFault: typeof retcode === "number" && retcode > 0 };
}

function decoded(body: Uint8Array): Value | undefined {
  try {
    return decode(body);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return undefined;
  }
}
