/**
 * Commands of parts that are not built, answered as Salt answers them when the feature serves nothing or is not permitted.
 * docs/compatibility.md lists them.
 */
import type { Encodable } from "../../wire/values.ts";

export const emptyAnswers: ReadonlyMap<string, Encodable> = new Map<string, Encodable>([
  ["_syndic_return", null],
  ["verify_minion", ""],
]);
