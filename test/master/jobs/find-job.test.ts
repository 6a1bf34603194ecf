import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadMembersMax } from "../../../src/limits.ts";
import { readFindJobAnswer } from "../../../src/master/jobs/find-job.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { countingKeys } from "../../wire/counting-keys.ts";

describe("readFindJobAnswer", () => {
  it("tells a running job from one that is over, and from a minion that could not answer", () => {
    const read = (load: Encodable) => readFindJobAnswer("web1", encode(load, "bin"));
    assert.deepEqual(read({ return: { pid: 7 }, retcode: 0 }), { id: "web1", runsStill: true, isFault: false });
    assert.deepEqual(read({ return: {}, retcode: 0 }), { id: "web1", runsStill: false, isFault: false });
    assert.deepEqual(read({ return: "no such function", retcode: 1 }), { id: "web1", runsStill: false, isFault: true });
  });

  it("counts an answer that is not a load as a fault, so that its sender does no harm", () => {
    const fault = { id: "web1", runsStill: false, isFault: true };
    const body = encode({ return: {}, retcode: 0 }, "bin");
    assert.deepEqual(readFindJobAnswer("web1", body.subarray(0, -1)), fault);
    assert.deepEqual(readFindJobAnswer("web1", encode([], "bin")), fault);
    const members = Object.fromEntries(Array.from({ length: loadMembersMax + 1 }, (_, index) => [`k${index}`, 0]));
    assert.deepEqual(readFindJobAnswer("web1", encode(members, "bin")), fault);
  });

  it("reads only the heads of the answer's values", async () => {
    const numericKeys = new Map<Encodable, Encodable>(Array.from({ length: 20_000 }, (_, index) => [index, 0]));
    const body = encode({ return: numericKeys, retcode: numericKeys }, "bin");
    const { result, keys } = await countingKeys(async () => readFindJobAnswer("web1", body));
    assert.deepEqual(result, { id: "web1", runsStill: true, isFault: false });
    assert.equal(keys, 0);
  });
});
