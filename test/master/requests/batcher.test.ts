import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forgedBytesOwedMax } from "../../../src/limits.ts";
import { Batcher, type BatcherOptions } from "../../../src/master/requests/batcher.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";
import { itemKinds, unpackBatch } from "../../../src/workers/batch/frames.ts";
import type { BatchResult } from "../../../src/workers/messages/batch.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import type { PoolTask, ShardPool } from "../../../src/workers/threads/pool.ts";
import { namedPeer } from "../ports/named-peer.ts";

type Taken = {
  readonly slot: number;
  readonly items: { kind: number; bytes: Buffer }[];
  readonly finish: (error?: Error, more?: Partial<BatchResult>) => void;
};

/** The rest of a result that holds only replies. */
const uneventful = {
  deferred: [],
  auths: undefined,
  contacts: [],
  accepted: [],
  refusals: [],
  authenticated: [],
  started: [],
  workedMs: 0,
};

/** Every id has an accepted key, no operator's key is right, events and jobs are followed, and no fleet is too large. */
const trusting = {
  standing: { isAccepted: () => true, hasRightKey: () => false },
  isOverMinionsMax: () => false,
  isHeard: () => true,
};

/** A batcher over a pool that keeps every batch until the test finishes it. Each item's reply is its own bytes. */
function openBatcher(options: Partial<BatcherOptions> = {}, depth = 0, slotCount = 1) {
  const taken: Taken[] = [];
  const replies: [string, unknown][] = [];
  const contacts: string[] = [];
  const forgotten: string[] = [];
  const proven: string[] = [];
  const pool = {
    slotCount,
    depth: () => depth,
    offer: (slot: number, job: PoolTask) =>
      new Promise((resolve, reject) => {
        const { task } = job.build() as { task: { buffer: ArrayBuffer } };
        const items = unpackBatch(task.buffer);
        const buffer = new Uint8Array(Buffer.concat(items.map((item) => item.bytes))).buffer;
        let end = 0;
        const replyEnds = Uint32Array.from(items, (item) => {
          end += item.bytes.byteLength;
          return end;
        });
        const result: BatchResult = {
          buffer,
          replyEnds,
          eventsStart: end,
          eventCount: 0,
          returnEvents: new Uint32Array(0),
          proven: Uint8Array.from(items, () => 1),
          ...uneventful,
        };
        const finish: Taken["finish"] = (error, more) =>
          error === undefined ? resolve({ ...result, ...more }) : reject(error);
        taken.push({ slot, items, finish });
      }),
  } as unknown as ShardPool;
  const rooms: string[] = [];
  const batcher = new Batcher({
    pool,
    partitioner: new Partitioner(createPartitionKey(), 64),
    framesMax: 4,
    bytesMax: 100_000,
    auths: {
      batchesPerSlotMax: 2,
      authsMax: 2,
      clientTimeoutMs: 5_000,
      isAccepted: () => false,
      knownKey: () => undefined,
      nowMs: () => 0,
    },
    lingerMs: 0,
    batchesInFlightMax: 1,
    queueBytesMax: 1_000,
    reply: (peer, payload) => void replies.push([String(peer), decode(payload)]),
    forget: (peer) => void forgotten.push(String(peer)),
    prove: (peer) => void proven.push(String(peer)),
    ...trusting,
    isFollowed: () => false,
    onContact: (id) => void contacts.push(id),
    onResult: () => undefined,
    onDeferred: () => undefined,
    onAuths: async () => undefined,
    onFault: () => undefined,
    onRoom: (readers) => void rooms.push(readers),
    ...options,
  });
  const send = (
    name: string,
    frame = encodeSealedRequest(Buffer.from(name), { version: 3, id: "web1" }),
    isProven = false,
  ) => batcher.offer(namedPeer(name, isProven), frame);
  return { batcher, taken, replies, contacts, forgotten, proven, send, rooms };
}

/** The batcher flushes at the end of the turn in which the socket drained. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settle = async () => {
  await turn();
  await turn();
};

describe("Batcher", () => {
  it("sends what came in one turn as one batch, and each reply to its own connection", async () => {
    const { taken, replies, contacts, send } = openBatcher();
    for (const name of ["a", "b", "c"]) send(name);
    await turn();
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [3],
    );
    taken[0]?.finish();
    await settle();
    assert.deepEqual(
      replies.map(([identity]) => identity),
      ["a", "b", "c"],
    );
    assert.deepEqual(contacts, ["web1", "web1", "web1"], "who proved itself is noted under the id outside of the seal");
  });

  it("lets a request linger for others, and no longer once a batch is full", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { taken, send } = openBatcher({ lingerMs: 2, batchesInFlightMax: 2 });
    send("first");
    await settle();
    send("second");
    await settle();
    assert.equal(taken.length, 0);
    context.mock.timers.tick(2);
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [2],
    );
    for (const name of ["a", "b", "c", "d"]) send(name);
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [2, 4],
    );
  });

  it("gathers for a busy worker, and gives it whole batches when it is free", async () => {
    const { taken, send } = openBatcher();
    send("first");
    await turn();
    for (let count = 0; count < 6; count += 1) {
      send(`later${count}`);
      await turn();
    }
    assert.equal(taken.length, 1);
    taken[0]?.finish();
    await settle();
    taken[1]?.finish();
    await settle();
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [1, 4, 2],
    );
  });

  it("lets authentications wait behind everything else", async () => {
    const { taken, send } = openBatcher();
    send("busy");
    await turn();
    send("auth", encodeClearRequest({ cmd: "_auth", id: "web2" }, 3));
    send("return");
    await turn();
    taken[0]?.finish();
    await settle();
    taken[1]?.finish();
    await settle();
    const kinds = taken.map((batch) =>
      batch.items.map((item) => decode(item.bytes) instanceof Map && item.bytes.includes("_auth")),
    );
    assert.deepEqual(kinds, [[false], [false], [true]]);
  });

  it("takes further authentications when those of a worker are answered, not when they are decided", async () => {
    const answered: (() => void)[] = [];
    const { batcher, taken, send } = openBatcher({
      onAuths: () => new Promise((resolve) => answered.push(resolve)),
    });
    for (let count = 0; count < 3; count += 1) {
      send(`auth${count}`, encodeClearRequest({ cmd: "_auth", id: "web2", pub: `${count}` }, 3));
      await turn();
    }
    assert.equal(taken.length, 1, "the others wait where they can still be given up");
    const auths = { items: Uint16Array.of(0), tasks: new ArrayBuffer(0) };
    taken[0]?.finish(undefined, { auths });
    await settle();
    assert.equal(taken.length, 1);
    answered[0]?.();
    await settle();
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [1, 2],
    );
    taken[1]?.finish();
    await batcher.idle();
  });

  it("leaves authentications of a lost worker unanswered: their minions try again", async () => {
    const { batcher, taken, replies, send } = openBatcher();
    send("auth", encodeClearRequest({ cmd: "_auth", id: "web2" }, 3));
    await turn();
    taken[0]?.finish(new Error("thread gone"));
    await batcher.idle();
    assert.deepEqual(replies, []);
  });

  it("marks an authentication beyond max_minions for the worker", async () => {
    const { taken, send } = openBatcher({ isOverMinionsMax: (id) => id === "web9" });
    send("auth", encodeClearRequest({ cmd: "_auth", id: "web9" }, 3));
    await turn();
    assert.equal(taken[0]?.items[0]?.kind, itemKinds.overMinionsMax);
  });

  it("holds back strangers first, refuses their requests beyond the bound, and still takes proven ones", async () => {
    const { batcher, taken, replies, send, rooms } = openBatcher();
    const large = encodeSealedRequest(Buffer.alloc(900), { version: 3, id: "web1" });
    const heldBack = () => [batcher.holdsBack("strangers"), batcher.holdsBack("proven")];
    send("busy");
    await turn();
    assert.deepEqual(heldBack(), [false, false]);
    send("one", large);
    assert.deepEqual(heldBack(), [true, false]);
    send("two", large);
    send("three", large);
    assert.deepEqual(replies, [["three", "Some exception handling minion payload"]]);
    for (const name of ["four", "five"]) send(name, large, true);
    assert.deepEqual(heldBack(), [true, true]);
    send("six", large, true);
    send("seven", large, true);
    assert.deepEqual(replies.slice(1), [["seven", "Some exception handling minion payload"]]);
    for (let at = 0; at < 3 && rooms.length < 2; at += 1) {
      taken[at]?.finish();
      await settle();
    }
    assert.deepEqual([...rooms].sort(), ["proven", "strangers"]);
    assert.deepEqual(heldBack(), [false, false]);
  });

  it("tells that there is room also when an idle worker takes all that made it full", async () => {
    const { batcher, send, rooms } = openBatcher();
    const large = encodeSealedRequest(Buffer.alloc(900), { version: 3, id: "web1" });
    send("one", large, true);
    send("two", large, true);
    assert.deepEqual([batcher.holdsBack("strangers"), batcher.holdsBack("proven")], [true, true]);
    await turn();
    assert.deepEqual(rooms, ["strangers", "proven"]);
    assert.deepEqual([batcher.holdsBack("strangers"), batcher.holdsBack("proven")], [false, false]);
  });

  it("survives a fault of a taker of its results, and is idle after it", async () => {
    const faults: string[] = [];
    const { batcher, taken, send } = openBatcher({
      onResult: () => {
        throw new Error("cannot be read");
      },
      onFault: (error) => void faults.push(error.message),
    });
    send("a");
    await turn();
    taken[0]?.finish();
    await settle();
    assert.deepEqual(faults, ["cannot be read"]);
    await batcher.idle();
  });

  it("holds no authentication back for other work of the pool without a batch under way", async () => {
    const { taken, send } = openBatcher({}, 1);
    send("auth", encodeClearRequest({ cmd: "_auth", id: "web2" }, 3));
    await turn();
    assert.equal(taken.length, 1, "nothing else would come back to bring it on");
  });

  it("answers a batch that failed, so that no client waits", async () => {
    const faults: Error[] = [];
    const { batcher, taken, replies, send } = openBatcher({ onFault: (error) => void faults.push(error) });
    send("a");
    await turn();
    taken[0]?.finish(new Error("thread gone"));
    await settle();
    assert.deepEqual(replies, [["a", "Some exception handling minion payload"]]);
    assert.equal(faults[0]?.message, "thread gone");
    await batcher.idle();
  });

  const storeError = Object.assign(new Error("/var/cache/secret/layout.json is of an unknown layout"), {
    code: "STORE_FAILED",
  });
  const clear = (cmd: string) => encodeClearRequest({ cmd, key: "secret", fun: "test.ping" }, 0);
  const slotsOf = (taken: readonly Taken[]) => taken.map(({ slot }) => slot);

  it("passes a request that any worker can serve on from a worker that cannot, and a minion's request to no other", async () => {
    const { batcher, taken, replies, send } = openBatcher({}, 0, 3);
    // The connection's number chooses the first worker.
    batcher.offer({ number: 2, address: "", isProven: false }, clear("runner"));
    await turn();
    taken[0]?.finish(storeError);
    await settle();
    taken[1]?.finish();
    await settle();
    assert.deepEqual(slotsOf(taken), [2, 0]);
    assert.deepEqual(taken[1]?.items[0]?.bytes, clear("runner"));
    assert.equal(replies.length, 1);
    assert.equal(batcher.counters.refused, 0);
    send("minion's");
    await turn();
    taken[2]?.finish(storeError);
    await settle();
    assert.equal(taken.length, 3);
    assert.deepEqual(replies[1], ["minion's", "Some exception handling minion payload"]);
    await batcher.idle();
  });

  it("tells an operator what is wrong when no worker can, without the master's paths and in Salt's forms", async () => {
    const { batcher, taken, replies } = openBatcher({}, 0, 3);
    for (const [index, command] of ["publish", "runner", "wheel", "ping"].entries()) {
      batcher.offer({ number: index, address: "", isProven: false }, clear(command));
      for (let tries = 1; tries <= 3; tries += 1) {
        await settle();
        assert.equal(taken.length, index * 3 + tries);
        taken.at(-1)?.finish(storeError);
      }
      await settle();
    }
    assert.equal(new Set(slotsOf(taken.slice(0, 3))).size, 3, "every worker was asked once");
    const message =
      "The master cannot serve this request now: The store could not read or write. (STORE_FAILED) Its log says more.";
    const told = replies.map(([, reply]) => (reply instanceof Map ? reply.get("error") : reply));
    const asException = new Map([
      ["name", "SaltClientError"],
      ["message", message],
    ]);
    assert.deepEqual(told, [message, asException, asException, "Some exception handling minion payload"]);
    assert.equal(batcher.counters.refused, 4);
    await batcher.idle();
  });

  it("does not pass on a request under which a thread ended", async () => {
    const { batcher, taken, replies } = openBatcher({}, 0, 3);
    batcher.offer({ number: 0, address: "", isProven: false }, clear("publish"));
    await turn();
    taken[0]?.finish(Object.assign(new Error("gone"), { code: "WORKER_LOST" }));
    await settle();
    assert.equal(taken.length, 1);
    const [[, reply] = ["", ""]] = replies;
    assert.match(String((reply as Map<string, string>).get("error")), /WORKER_LOST/);
  });

  it("gives no worker a large operator's command with a wrong key, and reads no more huge ones when many come", async () => {
    const { batcher, taken, replies, send } = openBatcher();
    const command = (bytes: number) => {
      const load = { cmd: "runner", fun: "jobs.active", arg: ["x".repeat(bytes)], user: "root", key: "wrong" };
      return encodeClearRequest(load, 3);
    };
    send("a", command(600_000));
    assert.equal(batcher.takesHuge, true);
    // Its debt runs down for many seconds, also on a slow machine.
    send("b", command(2 * forgedBytesOwedMax));
    await turn();
    assert.deepEqual([taken.length, batcher.counters.refusedLarge, batcher.takesHuge], [0, 2, false]);
    const error = { name: "UserAuthenticationError", message: 'Authentication failure of type "user" occurred' };
    const refusal = new Map([["error", new Map(Object.entries(error))]]);
    assert.deepEqual(replies, [
      ["a", refusal],
      ["b", refusal],
    ]);
  });

  it("hands a frame that it cannot read to a worker, which answers it", async () => {
    const { taken, send } = openBatcher();
    send("junk", encode("no map", "raw"));
    send("junk", Buffer.from([0xc1]));
    await turn();
    assert.equal(taken[0]?.items.length, 2);
  });
});
