import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeReturns, type SharedReturn } from "../../../src/cluster/returns/message.ts";
import { loadMembersMax } from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { takeMemberReturns } from "../../../src/workers/returns/member-returns.ts";
import { type Bench, openWorkerState, returnTags } from "../open-worker-state.ts";

const jid = "20261129000000000001";

function returnOf(minionId: string, more: Partial<SharedReturn> = {}): SharedReturn {
  const body = encode({ jid: more.jid ?? jid, id: minionId, return: true, fun: "test.ping" }, "bin");
  return { jid, minionId, body, isStored: true, isFailed: false, ...more };
}

/** The tags of the events. */
async function take({ worker }: Bench, returns: readonly SharedReturn[], isHeard = true): Promise<string[]> {
  const buffer = Uint8Array.from(encodeReturns("other", returns)).buffer;
  const result = await takeMemberReturns(worker, { kind: "memberReturns", buffer, isHeard });
  assert.equal(result.eventCount, result.returnEvents.length / 3);
  return returnTags({ ...noBatch, ...result });
}

/** The rest of a batch's result. */
const noBatch = {
  replyEnds: new Uint32Array(),
  deferred: [],
  auths: undefined,
  proven: new Uint8Array(),
  ...{ contacts: [], authenticated: [], started: [], syndics: [], expected: [], accepted: [] },
  ...{ refusals: [], wrongKeys: [], workedMs: 0 },
};

describe("returns of another member", () => {
  it("are stored, and fire one event, however often they come", async () => {
    const bench = openWorkerState();
    assert.deepEqual(await take(bench, [returnOf("web1"), returnOf("web2")]), [
      `salt/job/${jid}/ret/web1`,
      `salt/job/${jid}/ret/web2`,
    ]);
    assert.deepEqual(await take(bench, [returnOf("web1"), returnOf("web3")]), [`salt/job/${jid}/ret/web3`]);
    assert.equal(bench.memory.returns.size, 3);
    assert.equal(bench.worker.counters["cluster.returns.duplicate"], 1);
    assert.deepEqual(await take(bench, [returnOf("web4")], false), []);
    assert.equal(bench.memory.returns.size, 4);
  });

  it("of a job that is not kept fire their events only", async () => {
    const bench = openWorkerState();
    bench.worker.noteNoCache("20261129000000000002");
    const tags = await take(bench, [
      returnOf("web1", { isStored: false }),
      returnOf("web2", { jid: "20261129000000000002" }),
    ]);
    assert.equal(tags.length, 2);
    assert.equal(bench.memory.returns.size, 0);
  });

  it("make the jobs that began below or on the minion", async () => {
    const bench = openWorkerState();
    const load = encode({ fun: "test.ping", Minions: ["below1", "below2"], key: "secret" }, "bin");
    await take(bench, [
      returnOf("web1", { job: "ofReturn" }),
      returnOf("", { jid: "20261129000000000003", job: "below", body: load }),
    ]);
    assert.deepEqual(bench.memory.loads.get(jid)?.minions, ["web1"]);
    assert.deepEqual(bench.memory.loads.get("20261129000000000003")?.minions, ["below1", "below2"]);
    assert.deepEqual([...bench.memory.returns.keys()].length, 1);
  });

  it("do not hold up others if one cannot be read", async () => {
    const bench = openWorkerState();
    const many = encode(
      Object.fromEntries(Array.from({ length: loadMembersMax + 1 }, (_, at) => [`k${at}`, at])),
      "bin",
    );
    const tags = await take(bench, [
      returnOf("", { jid: "20261129000000000003", job: "below", body: many }),
      returnOf("web1", { job: "ofReturn", body: Buffer.of(0xc1) }),
      returnOf("web2"),
    ]);
    assert.deepEqual(tags.at(-1), `salt/job/${jid}/ret/web2`);
    assert.deepEqual(
      [...bench.memory.returns.values()].map(({ minionId }) => minionId),
      ["web1", "web2"],
    );
    assert.equal(bench.memory.loads.size, 0);
    assert.equal(bench.worker.counters["cluster.returns.unusable"], 2);
  });

  it("are not acknowledged if they cannot be stored", async () => {
    const bench = openWorkerState();
    bench.memory.fault = new Error("the disk is full");
    await assert.rejects(take(bench, [returnOf("web1")]), /the disk is full/);
    bench.memory.fault = undefined;
    assert.equal((await take(bench, [returnOf("web1")])).length, 1);
  });
});
