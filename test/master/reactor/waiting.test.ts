/** Events that wait for the reactor: bounded altogether and for each minion, and in turns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reactorEventsPerTask, reactorShareOfMinion, reactorShareOfUnmarked } from "../../../src/limits.ts";
import { WaitingEvents } from "../../../src/master/reactor/waiting.ts";

const event = (tag: string, bytes = 1, isMasters = true) => ({
  ...{ tag, data: new Uint8Array(bytes), files: [], atMs: 0, isMasters },
});
const tags = (waiting: WaitingEvents) => waiting.take().map(({ tag }) => tag);

describe("events that wait for the reactor", () => {
  it("leave in turns of their minions, each minion's in order", () => {
    const waiting = new WaitingEvents(100);
    for (const tag of ["a1", "a2", "a3"]) assert.ok(waiting.offer("a", event(tag)));
    assert.ok(waiting.offer("b", event("b1")));
    assert.ok(waiting.offer("", event("own")));
    assert.deepEqual(tags(waiting), ["a1", "b1", "own", "a2", "a3"]);
    assert.deepEqual([waiting.count, waiting.bytes], [0, 0]);
  });

  it("leave room for others when one minion floods", () => {
    const waiting = new WaitingEvents(100);
    const taken = Array.from({ length: 100 }, () => waiting.offer("flooder", event("f"))).filter(Boolean);
    assert.equal(taken.length, 100 * reactorShareOfMinion);
    for (let left = 75; left > 0; left -= 1) assert.ok(waiting.offer("", event("own")));
    assert.equal(waiting.offer("", event("own")), false);
    assert.equal(waiting.offer("late", event("l")), false);
  });

  it("leave room for the master's own, whatever names minions give", () => {
    const waiting = new WaitingEvents(100);
    const offered = Array.from({ length: 100 }, (_, index) => waiting.offer(`id${index}`, event("f", 1, false)));
    assert.equal(offered.filter(Boolean).length, 100 * reactorShareOfUnmarked);
    assert.ok(waiting.offer("web1", event("salt/auth")));
    assert.equal(tags(waiting).length, reactorEventsPerTask);
    assert.ok(waiting.offer("id0", event("f", 1, false)));
  });

  it("are bounded in bytes, and a large one has room in an empty queue", () => {
    const waiting = new WaitingEvents(100, 1_000);
    assert.ok(waiting.offer("a", event("large", 1_000)));
    assert.equal(waiting.offer("b", event("small")), false);
    assert.deepEqual(tags(waiting), ["large"]);
    assert.ok(waiting.offer("a", event("first", 200)));
    assert.equal(waiting.offer("a", event("second", 200)), false);
    assert.equal(waiting.bytes, 200);
  });

  it("leave as many at once as one task takes", () => {
    const waiting = new WaitingEvents(1_000);
    for (let left = 2 * reactorEventsPerTask; left > 0; left -= 1) waiting.offer("", event("e"));
    assert.equal(waiting.take().length, reactorEventsPerTask);
  });
});
