import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forgedBytesOwedMax } from "../../../src/limits.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import { namedConnection } from "../ports/named-connection.ts";
import { openBatcher, settle, type Taken, turn } from "./open-batcher.ts";

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
    // So long that the first request counts as one of many.
    const { taken, send } = openBatcher({ lingerMs: 250, batchesInFlightMax: 2 });
    send("first");
    await settle();
    send("second");
    await settle();
    assert.equal(taken.length, 0);
    context.mock.timers.tick(250);
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

  for (const isProven of [true, false])
    it(`lets large requests of ${isProven ? "proven" : "new"} connections wait for no others, nor behind a busy worker`, async (context) => {
      context.mock.timers.enable({ apis: ["setTimeout"] });
      const { taken, send } = openBatcher({ lingerMs: 250, bytesMax: 1_000_000, queueBytesMax: 4_000_000 });
      const large = encodeSealedRequest(Buffer.alloc(600_000), { version: 3, id: "web1" });
      for (const name of ["a", "b", "c"]) {
        send(name, large, isProven);
        await settle();
      }
      assert.equal(taken.length, 1, "the worker is busy");
      taken[0]?.finish();
      await settle();
      assert.equal(taken.length, 2);
    });

  it("lets nothing wait once an operator asks, who asks in clear", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { batcher, taken, send } = openBatcher({ lingerMs: 250 });
    send("first");
    await settle();
    assert.equal(taken.length, 0);
    batcher.offer(namedConnection("operator"), encodeClearRequest({ cmd: "publish", fun: "test.ping" }, 3));
    await settle();
    assert.deepEqual(
      taken.map((batch) => batch.items.length),
      [2],
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
    batcher.offer({ number: 2, address: "", isProven: false, answeredMs: Number.NEGATIVE_INFINITY }, clear("runner"));
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
      batcher.offer(
        { number: index, address: "", isProven: false, answeredMs: Number.NEGATIVE_INFINITY },
        clear(command),
      );
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
    batcher.offer({ number: 0, address: "", isProven: false, answeredMs: Number.NEGATIVE_INFINITY }, clear("publish"));
    await turn();
    taken[0]?.finish(Object.assign(new Error("gone"), { code: "WORKER_LOST" }));
    await settle();
    assert.equal(taken.length, 1);
    const [[, reply] = ["", ""]] = replies;
    assert.match(String((reply as Map<string, string>).get("error")), /WORKER_LOST/);
  });

  it("shares memory with the worker for a large sealed request, until it is answered, and for no clear one", async () => {
    const { batcher, taken, send } = openBatcher({ queueBytesMax: 1_000_000, bytesMax: 1_000_000 });
    const load = { cmd: "publish", fun: "test.echo", arg: ["x".repeat(50_000)] };
    send("minion", encodeSealedRequest(Buffer.alloc(50_000, "m"), { version: 3, id: "web1" }), true);
    send("operator", encodeClearRequest(load, 3), true);
    await turn();
    const [sealed, clear] = taken[0]?.items ?? [];
    assert.ok(sealed?.bytes.buffer instanceof SharedArrayBuffer);
    assert.ok(clear?.bytes.buffer instanceof ArrayBuffer);
    send("minion", encodeSealedRequest(Buffer.alloc(50_000, "n"), { version: 3, id: "web1" }), true);
    assert.ok(sealed.bytes.includes("mmmm"), "a later request takes other memory");
    taken[0]?.finish();
    await settle();
    taken[1]?.finish();
    await settle();
    const bytesBefore = batcher.memory.bytes;
    send("minion", encodeSealedRequest(Buffer.alloc(50_000, "o"), { version: 3, id: "web1" }), true);
    await turn();
    assert.equal(batcher.memory.bytes, bytesBefore, "answered requests have left their memory");
    taken[2]?.finish(Object.assign(new Error("gone"), { code: "WORKER_LOST" }));
    await settle();
    assert.ok(
      batcher.memory.bytes < bytesBefore,
      "the memory of a request under which a thread ended is not used again",
    );
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

  it("reads no more huge requests when huge ones come that are too large for their command", async () => {
    const { batcher, taken, replies, send } = openBatcher();
    send("a", encodeClearRequest({ large: "x".repeat(2 * forgedBytesOwedMax), cmd: "ping" }, 3));
    await turn();
    assert.deepEqual([taken.length, batcher.counters.refusedLarge, batcher.takesHuge], [0, 1, false]);
    assert.deepEqual(replies, [["a", "bad load"]]);
  });

  it("refuses a waiting large request of a crowded address instead of the newcomer of another", async () => {
    const known = new Set(["192.0.2.7"]);
    const { batcher, taken, replies } = openBatcher({
      queueBytesMax: 2_000_000,
      addresses: { isProxy: () => false, hasProven: (address) => known.has(address) },
    });
    const offer = (name: string, address: string, bytes: number) => {
      const frame = encodeSealedRequest(Buffer.alloc(bytes), { version: 3, id: "web1" });
      batcher.offer(Object.assign(namedConnection(name), { address }), frame);
    };
    offer("forged", "192.0.2.6", 1_500_000);
    await turn();
    for (const name of ["one", "two", "three"]) offer(name, "192.0.2.6", 100_000);
    taken[0]?.finish(undefined, { proven: Uint8Array.of(0) });
    await settle();
    // "one" is with the worker. "four" fills an eighth of the queue.
    for (const name of ["four", "five"]) offer(name, "192.0.2.6", 100_000);
    offer("minion's", "192.0.2.7", 200_000);
    assert.deepEqual(
      replies.slice(1).map(([name]) => name),
      ["five", "four"],
    );
    assert.deepEqual([batcher.counters.refused, batcher.rowCounters.unprovenRefused], [2, 2]);
    taken[1]?.finish();
    await settle();
    assert.ok((taken[2]?.items[0]?.bytes.byteLength ?? 0) > 200_000, "it is the next in turn");
  });

  it("hands a frame that it cannot read to a worker, which answers it", async () => {
    const { taken, send } = openBatcher({ framesMax: 16 });
    send("junk", encode("no map", "raw"));
    send("junk", Buffer.from([0xc1]));
    await turn();
    assert.equal(taken[0]?.items.length, 2);
  });
});
