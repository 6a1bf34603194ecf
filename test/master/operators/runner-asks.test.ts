/** Questions of runners that carry minions' data through the main thread. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RunnerAsksOptions, runnerAsks } from "../../../src/master/operators/runner-asks.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

/** No decoder keeps both members of this map. */
const twins = Buffer.from([0x82, 0xa1, 0x61, 1, 0xa1, 0x61, 2]);
const caller = { kind: "runner", jid: "20260101000000000000", tag: "salt/run/1", user: "root" } as const;

describe("a runner's event", () => {
  it("passes the main thread as the lane packed it, because minions may have made its data", async () => {
    const fired: [tag: string, data: Buffer][] = [];
    const fire = (tag: string, data: Encodable) => void fired.push([tag, encode(data, "bin")]);
    const asks = runnerAsks({ fire, pillars: {} } as unknown as RunnerAsksOptions);
    const data = Buffer.concat([Buffer.from([0x81, 0xa3]), Buffer.from("ret"), twins]);
    await asks.fire({ tag: "salt/run/1/progress", data }, caller);
    assert.deepEqual(fired, [["salt/run/1/progress", data]]);
  });
});
