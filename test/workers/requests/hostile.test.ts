import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeEvent, FrameReader } from "../../../src/wire/event.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import type { BatchResult } from "../../../src/workers/messages/batch.ts";
import { acceptMinion, clearFrame, openWorkerState, replyOf, sealedFrame, sealedLoad } from "../open-worker-state.ts";

const jid = "20261120155553885300";
const pong = { cmd: "_return", success: true, return: true, retcode: 0, jid, fun: "test.ping", fun_args: [] };

async function open() {
  const bench = openWorkerState();
  const crypticle = await acceptMinion(bench, "web1");
  const send = (load: Record<string, Encodable>, isHeard = true) =>
    bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"), itemKinds.ordinary, isHeard);
  return { bench, crypticle, send };
}

function tags(result: BatchResult): string[] {
  const frames = new Uint8Array(result.buffer, result.eventsStart);
  return new FrameReader().push(frames).map((body) => decodeEvent(body).tag);
}

describe("an accepted minion that means harm", () => {
  it("cannot end an event's tag early with a line feed in its job id or tag", async () => {
    const { bench, send } = await open();
    assert.deepEqual(tags(await send({ ...pong, jid: `${jid}\n\nforged` })), []);
    assert.equal(bench.memory.returns.size, 0);
    assert.deepEqual(tags(await send({ cmd: "_minion_event", tag: "my\n\ntag", data: {} })), []);
    assert.deepEqual(tags(await send({ cmd: "_minion_event", tag: "my/tag\n", data: {} })), []);
  });

  it("cannot have a job id that leads to another place", async () => {
    const { bench, send } = await open();
    for (const path of [`${jid}/ret/other`, "../../minions/db1", "..", "/etc/passwd"])
      assert.deepEqual(tags(await send({ ...pong, jid: path })), [], path);
    assert.equal(bench.memory.returns.size, 0);
  });

  it("cannot say in a load of its own what only publishers say", async () => {
    const { bench, send } = await open();
    const publishers = {
      kwargs: { module_executors: ["sudo"], nocache: true },
      token: "t",
      eauth: "pam",
      password: "p",
    };
    await send({ ...pong, tgt: "web1", tgt_type: "glob", ...publishers });
    const load = decode(bench.memory.loads.get(jid)?.load ?? assert.fail()) as ValueMap;
    assert.deepEqual(
      Object.keys(publishers).filter((name) => load.has(name)),
      [],
    );
    assert.equal(load.get("tgt"), "web1");
  });

  it("cannot make one of the master's tags out of a prefix and a harmless rest", async () => {
    const { send } = await open();
    const events = [{ tag: "new", data: { minions: [] } }];
    assert.deepEqual(tags(await send({ cmd: "_minion_event", pretag: "salt/job/1", events })), ["new"]);
  });

  it("cannot stop everybody's publishes with grains that no decoder takes", async () => {
    const { bench, send } = await open();
    const numericKeys = new Map<Encodable, Encodable>(Array.from({ length: 20_000 }, (_, index) => [index, 0]));
    const [deferred] = (await send({ cmd: "_pillar", grains: numericKeys, saltenv: null, ver: "2" })).deferred;
    assert.ok(deferred?.kind === "pillar");
    await bench.worker.facts.keep("web1", deferred.task.grains ?? new Uint8Array(), encode(new Map(), "bin"));
    assert.equal(bench.worker.facts.of("web1")?.grains.size, 0);
    assert.equal(bench.worker.counters["facts.unreadable"], 1);
  });

  it("is judged by the last of two ids, which readers of the event see", async () => {
    const { bench, crypticle } = await open();
    await acceptMinion(bench, "web2");
    const load = sealedLoad("web1", pong);
    // One entry more: a second id behind the first.
    const doubled = Buffer.concat([load, encode("id", "raw"), encode("web2", "raw")]);
    doubled[0] = (doubled[0] ?? 0) + 1;
    const result = await bench.send(sealedFrame(crypticle.seal(doubled), "web1"));
    assert.equal(decode(replyOf(result)), "bad load");
    assert.equal(bench.worker.counters["refused.idMismatch"], 1);
  });

  it("costs no fault report when its values do not decode", async () => {
    const { bench, send } = await open();
    const fun = new Map<Encodable, Encodable>(Array.from({ length: 20_000 }, (_, index) => [index, 0]));
    const result = await send({ cmd: "_mine_get", tgt: "*", fun });
    assert.equal(decode(replyOf(result)), "Some exception handling minion payload");
    assert.deepEqual(bench.faults, []);
    assert.equal(bench.worker.counters["refused.malformed"], 1);
  });
});

describe("a worker", () => {
  it("encodes no event without a reader, and stores the return all the same", async () => {
    const { bench, send } = await open();
    const result = await send(pong, false);
    assert.deepEqual([result.eventCount, result.returnEvents.length], [0, 0]);
    assert.equal(bench.memory.returns.size, 1);
  });

  it("does not read a session back while it is being dropped", async () => {
    const { bench } = await open();
    let onDropped: () => void = () => undefined;
    const { minions } = bench.worker.stores;
    const dropSession = minions.dropSession;
    minions.dropSession = async (id) => {
      await new Promise<void>((resolve) => {
        onDropped = resolve;
      });
      return dropSession(id);
    };
    const forgotten = bench.worker.forget("web1");
    assert.equal(bench.worker.session("web1"), undefined);
    onDropped();
    await forgotten;
    assert.equal(bench.worker.session("web1"), undefined);
  });

  it("gives every standalone job an id of its own, also within one moment", async () => {
    const { bench } = await open();
    const given = Array.from({ length: 500 }, () => bench.worker.newJid(1_700_000_000_000));
    assert.equal(new Set(given).size, 500);
    assert.deepEqual(given, given.toSorted());
  });

  it("takes no key for accepted that is none", async () => {
    const { bench, send } = await open();
    bench.keys.write("accepted", "web1", "not a key");
    await bench.worker.forget("web1");
    assert.equal(bench.worker.acceptedPem("web1"), undefined);
    assert.equal(decode(replyOf(await send(pong))), "bad load");
    assert.deepEqual(bench.faults, []);
  });

  it("echoes a ping without decoding it", async () => {
    const { bench } = await open();
    const numbers = new Map<Encodable, Encodable>();
    for (let index = 0; index < 15_000; index += 1) numbers.set(index, null);
    const load = new Map<Encodable, Encodable>([
      ["cmd", "ping"],
      ["numbers", numbers],
    ]);
    assert.deepEqual(replyOf(await bench.send(clearFrame(load))), encode(load, "raw"));
  });
});
