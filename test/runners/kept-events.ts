/** A master's `fire` that keeps every event, for tests of runners. */
import { decode } from "../../src/wire/msgpack.ts";
import type { ValueMap } from "../../src/wire/values.ts";

/** `fired`: tags and data, in order. */
export function keptEvents() {
  const fired: [string, ValueMap][] = [];
  const fire = async ({ tag, data }: { tag: string; data: Uint8Array }) =>
    void fired.push([tag, decode(data) as ValueMap]);
  return { fired, fire };
}
