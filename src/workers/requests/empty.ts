/**
 * Commands of parts that do not exist yet, answered exactly as Salt answers them when there is nothing to serve or the
 * feature is not permitted. docs/compatibility.md lists them.
 */
import type { Encodable } from "../../wire/values.ts";

export const emptyAnswers: ReadonlyMap<string, Encodable> = new Map<string, Encodable>([
  ["_syndic_return", null],
  ["verify_minion", ""],
]);
