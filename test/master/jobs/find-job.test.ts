import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readFindJobAnswer } from "../../../src/master/jobs/find-job.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

describe("readFindJobAnswer", () => {
  it("tells a running job from one that is over, and from a minion that could not answer", () => {
    const read = (load: Encodable) => readFindJobAnswer("web1", encode(load, "bin"));
    assert.deepEqual(read({ return: { pid: 7 }, retcode: 0 }), { id: "web1", runsStill: true, isFault: false });
    assert.deepEqual(read({ return: {}, retcode: 0 }), { id: "web1", runsStill: false, isFault: false });
    assert.deepEqual(read({ return: "no such function", retcode: 1 }), { id: "web1", runsStill: false, isFault: true });
  });

  it("counts an answer that does not decode as a fault, so that its sender does no harm", () => {
    const numericKeys = new Map<Encodable, Encodable>(Array.from({ length: 20_000 }, (_, index) => [index, 0]));
    const body = encode({ return: numericKeys, retcode: 0 }, "bin");
    assert.deepEqual(readFindJobAnswer("web1", body), { id: "web1", runsStill: false, isFault: true });
  });
});
