/** Counts the numeric keys that a call puts into maps: the work that chosen keys make quadratic. */
import { mock } from "node:test";
import type { Encodable } from "../../src/wire/values.ts";

/** A map with this many numeric keys. */
export function numbered(count: number): Map<Encodable, Encodable> {
  return new Map(Array.from({ length: count }, (_, at): [Encodable, Encodable] => [at, 0]));
}

export async function countingKeys<Result>(run: () => Promise<Result>): Promise<{ result: Result; keys: number }> {
  let keys = 0;
  const set = Map.prototype.set;
  const counted = mock.method(
    Map.prototype,
    "set",
    function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
      if (typeof key === "number") keys += 1;
      return set.call(this, key, value);
    },
  );
  try {
    return { result: await run(), keys };
  } finally {
    counted.mock.restore();
  }
}
