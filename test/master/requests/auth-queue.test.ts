import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authHoldMsMax, authQueueBytesMax, authsPerBatchMax } from "../../../src/limits.ts";
import { AuthQueue, type AuthQueueOptions } from "../../../src/master/requests/auth-queue.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import { seededRandom } from "../../random.ts";
import { namedConnection } from "../ports/named-connection.ts";

const clientTimeoutMs = 5_000;

/** A queue whose clock the test sets; `send` offers from a connection of the given name. */
function openQueue(options: Partial<AuthQueueOptions> = {}) {
  const clock = { nowMs: 1_000_000 };
  const asked: string[] = [];
  const forgotten: string[] = [];
  const queue = new AuthQueue({
    slotCount: 1,
    batchesPerSlotMax: 2,
    authsMax: 1_000,
    clientTimeoutMs,
    isAccepted: (id) => id.startsWith("web"),
    nowMs: () => clock.nowMs,
    forget: (connection) => void forgotten.push(String(connection)),
    ...options,
    knownKey: (id) => {
      asked.push(id);
      return options.knownKey?.(id);
    },
  });
  const send = (connection: string, id: string, pub = `key of ${id}`, slot = 0, bytes = Buffer.alloc(1_000)) =>
    queue.offer(slot, {
      kind: itemKinds.ordinary,
      bytes,
      connection: namedConnection(connection),
      id,
      pub: encode(pub, "raw"),
      queuedMs: clock.nowMs,
    });
  /** Connections of the batch that is taken next; it is answered at once. */
  const take = (isBusy = false, slot = 0) => {
    const taken = queue.take(slot, isBusy).map(({ connection }) => String(connection));
    if (taken.length > 0) queue.settle(slot);
    return taken;
  };
  return { queue, clock, asked, forgotten, send, take };
}

describe("AuthQueue", () => {
  it("gives them in turn, and the newest first when the first in turn has lost half of its time", () => {
    const { clock, send, take } = openQueue();
    for (const name of ["a", "b", "c"]) send(name, `web-${name}`);
    clock.nowMs += clientTimeoutMs / 2 - 1;
    assert.deepEqual(take(), ["a", "b", "c"]);
    for (const name of ["a", "b", "c"]) send(name, `web-${name}`);
    clock.nowMs += clientTimeoutMs / 2;
    send("d", "web-d");
    assert.deepEqual(take(), ["d", "c", "b", "a"]);
  });

  it("keeps one request per minion and key: a retry takes the place of what its client gave up", () => {
    const { queue, send, take } = openQueue();
    for (let tried = 0; tried < 5; tried += 1) send(`try${tried}`, "web1");
    assert.deepEqual(take(), ["try4"]);
    assert.equal(queue.counters.authsCoalesced, 4);
    assert.equal(queue.waitingCount, 0);
  });

  it("drops requests that have waited as long as their clients, without an answer", () => {
    const { queue, clock, send, take } = openQueue();
    send("early", "web1");
    clock.nowMs += clientTimeoutMs - 1;
    send("late", "web2");
    clock.nowMs += 1;
    assert.deepEqual(take(), ["late"]);
    assert.equal(queue.counters.authsExpired, 1);
  });

  it("never lets a request with another key displace the minion's own, in either order", () => {
    for (const order of [
      ["own", "other"],
      ["other", "own"],
    ]) {
      const { send, take, asked } = openQueue({ knownKey: () => "minion's key\n" });
      for (const name of order) send(name, "web1", name === "own" ? "minion's key" : "forged");
      for (let count = 0; count < 100; count += 1) send(`flood${count}`, "web1", `forged ${count}`);
      const taken = take();
      assert.deepEqual(new Set(taken), new Set(["own", "flood99"]));
      assert.ok(asked.every((id) => id === "web1"));
    }
  });

  it("lets the first key of a new id stand, as the decision will, and others share one place", () => {
    const { send, take, queue } = openQueue({ isAccepted: () => false });
    send("first", "new1", "first key");
    for (let count = 0; count < 10; count += 1) send(`later${count}`, "new1", `key ${count}`);
    assert.equal(queue.waitingCount, 2);
    assert.deepEqual(take(), ["first", "later9"]);
  });

  it("reads no key file unless two keys claim one id", () => {
    const { send, asked } = openQueue();
    for (let count = 0; count < 10; count += 1) send("c", `web${count % 5}`);
    assert.deepEqual(asked, []);
  });

  it("serves accepted minions before strangers, but never only them", () => {
    const { send, take } = openQueue();
    for (let count = 0; count < 40; count += 1) send(`known${count}`, `web${count}`);
    for (let count = 0; count < 100; count += 1) send(`made-up${count}`, `x${count}`);
    const first = take();
    assert.equal(first.length, authsPerBatchMax);
    assert.equal(first.filter((name) => name.startsWith("made-up")).length, authsPerBatchMax / 4);
    const batches = [take(), take(), take()];
    assert.equal(batches.flat().filter((name) => name.startsWith("known")).length, 40 - 12);
  });

  it("makes room at the cost of strangers, oldest first, then of the oldest; a stranger finds none among the known", () => {
    const { queue, send, take } = openQueue({ authsMax: 4 });
    send("s1", "x1");
    send("k1", "web1");
    send("s2", "x2");
    send("k2", "web2");
    send("k3", "web3");
    send("k4", "web4");
    assert.equal(queue.counters.authsRefused, 2);
    send("s3", "x3");
    send("k5", "web5");
    assert.deepEqual([queue.waitingCount, queue.counters.authsRefused], [4, 4]);
    assert.deepEqual(take(), ["k2", "k3", "k4", "k5"]);
  });

  it("is bounded in bytes", () => {
    const { queue, send } = openQueue();
    const large = Buffer.alloc(authQueueBytesMax / 4);
    for (let count = 0; count < 10; count += 1) send("c", `web${count}`, "key", 0, large);
    assert.equal(queue.waitingCount, 4);
    assert.equal(queue.counters.authsRefused, 6);
  });

  it("has two batches of a worker under way at most, so that the rest can still be given up", () => {
    const { queue, send } = openQueue({ slotCount: 2 });
    for (let count = 0; count < 100; count += 1) send(`c${count}`, `web${count}`);
    assert.equal(queue.take(0, false).length, authsPerBatchMax);
    assert.equal(queue.take(0, false).length, authsPerBatchMax);
    assert.deepEqual(queue.take(0, false), []);
    assert.equal(queue.batchesUnderWay, 2);
    queue.settle(0);
    assert.equal(queue.take(0, false).length, authsPerBatchMax);
    assert.deepEqual(queue.take(1, false), [], "another worker's minions");
  });

  it("gathers a partial batch until the one under way is answered, and holds no request back while none is", () => {
    const { queue, send } = openQueue();
    send("first", "web0");
    assert.equal(queue.take(0, false).length, 1);
    for (let count = 1; count < authsPerBatchMax; count += 1) {
      send(`c${count}`, `web${count}`);
      assert.deepEqual(queue.take(0, false), []);
    }
    queue.settle(0);
    assert.equal(queue.take(0, false).length, authsPerBatchMax - 1);
    for (let count = 0; count < authsPerBatchMax; count += 1) send(`d${count}`, `web${count}`);
    assert.equal(queue.take(0, false).length, authsPerBatchMax, "a whole one need not wait");
  });

  it("holds back while returns wait, but not for ever", () => {
    const { clock, send, take } = openQueue();
    for (let count = 0; count < 40; count += 1) send(`c${count}`, `web${count}`);
    assert.equal(take(true).length, authsPerBatchMax, "none was taken for long");
    clock.nowMs += authHoldMsMax - 1;
    assert.deepEqual(take(true), []);
    clock.nowMs += 1;
    assert.equal(take(true).length, authsPerBatchMax);
  });

  it("ends a storm of a fleet four times larger than can be served within the clients' patience, and works for no client that has gone", () => {
    const { queue, clock, send, take } = openQueue({ authsMax: 100_000 });
    const minions = 4_000;
    const takesPerSecond = 200 / authsPerBatchMax;
    const sentMs = new Map<number, number>();
    const waiting = new Set(Array.from({ length: minions }, (_, index) => index));
    let wasted = 0;
    let isFirst = true;
    for (let second = 0; waiting.size > 0 && second < 60; second += 5) {
      // Minions without an answer ask again on new connections after their timeout, all at once.
      for (const index of waiting) sentMs.set(index, clock.nowMs);
      for (const index of waiting) send(`${index} ${clock.nowMs}`, `web${index}`);
      assert.ok(isFirst || queue.counters.authsExpired > 0);
      isFirst = false;
      for (let turn = 0; turn < 5 * takesPerSecond; turn += 1) {
        clock.nowMs += 1_000 / takesPerSecond;
        for (const name of take()) {
          const [index = -1, sent] = name.split(" ").map(Number);
          if (sentMs.get(index) === sent) waiting.delete(index);
          else wasted += 1;
        }
      }
    }
    assert.deepEqual([waiting.size, wasted], [0, 0]);
  });

  it("counts every request once, with any outcome", () => {
    const { queue, clock, send, take } = openQueue({ authsMax: 20 });
    const random = seededRandom(7);
    for (let step = 0; step < 5_000; step += 1) {
      send(`c${step}`, `${random(2) === 0 ? "web" : "x"}${random(30)}`, `key ${random(3)}`);
      clock.nowMs += random(400);
      if (random(10) === 0) take(random(2) === 0);
      const { auths, authsCoalesced, authsExpired, authsRefused, authsAdmitted } = queue.counters;
      assert.equal(authsCoalesced + authsExpired + authsRefused + authsAdmitted + queue.waitingCount, auths);
    }
  });
});
