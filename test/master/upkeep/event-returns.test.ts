/** The master's side of `event_return`: frames reach the lane unread and together, within a bound, and the operator is told what becomes of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Logger } from "pino";
import type { ReturnerState } from "../../../src/databases/events/shipper.ts";
import { eventsHandedBytesMax } from "../../../src/limits.ts";
import type { Bus } from "../../../src/master/ports/bus.ts";
import { EventReturns } from "../../../src/master/upkeep/event-returns.ts";
import type { EventTask, EventTaskAnswer } from "../../../src/workers/messages/lanes.ts";
import type { LanePool } from "../../../src/workers/threads/lane-pool.ts";

const counters = { written: 0, present: 0, refused: 0, dropped: 0, batches: 0, failures: 0 };
const writing: ReturnerState = {
  ...{ name: "mysql", place: "mysql://db:3306/salt", hasAnswered: true, waiting: 0, waitingBytes: 0 },
  ...{ oldestAgeMs: undefined, fault: undefined, nextTryInMs: undefined, counters, refusals: [] },
};
const failing: ReturnerState = { ...writing, waiting: 5, oldestAgeMs: 3_000, fault: "refused", nextTryInMs: 500 };

function answerOf(state: ReturnerState, thread = "sw-events-0"): EventTaskAnswer {
  return { thread, counters: { taken: 0, filtered: 0, unreadable: 0 }, returners: [state] };
}

/** A lane that answers with `answer`, or not at all while `isHanging`. `told()`: after the next task of this kind is answered. */
function opened() {
  const tasks: EventTask[] = [];
  const lines: string[] = [];
  const lane = { answer: answerOf(writing), isHanging: false, fault: undefined as Error | undefined };
  const run = async (task: EventTask) => {
    tasks.push(task);
    if (lane.isHanging) await new Promise(() => undefined);
    if (lane.fault !== undefined) throw lane.fault;
    return lane.answer;
  };
  const note = (level: string) => (facts: object, text: string) =>
    void lines.push(`${level} ${text} ${JSON.stringify(facts)}`);
  const logger = { error: note("error"), info: note("info") } as unknown as Logger;
  const fired: string[] = [];
  const bus: Pick<Bus, "fire" | "tap"> = { tap: undefined, fire: (tag) => void fired.push(tag) };
  const returns = new EventReturns({ bus, events: { run } as unknown as LanePool, logger });
  const fire = (frames: Uint8Array, count = 1) => bus.tap?.(frames, count);
  /** A chunk of this size is handed over at once. */
  const hand = async () => {
    fire(new Uint8Array(256 * 1024));
    await new Promise((resolve) => setImmediate(resolve));
  };
  const taken = () => tasks.flatMap((task) => (task.kind === "take" ? [task.frames] : []));
  return { returns, bus, lane, lines, tasks, taken, fired, fire, hand };
}

describe("events on their way to the returners", () => {
  it("are handed over together, as a copy", async ({ mock }) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { returns, fire, taken, bus, fired } = opened();
    const frames = Uint8Array.of(1, 2, 3);
    fire(frames);
    fire(Uint8Array.of(4), 1);
    assert.deepEqual([taken().length, returns.handedBytes], [0, 4]);
    mock.timers.tick(25);
    assert.deepEqual(taken(), [Uint8Array.of(1, 2, 3, 4)]);
    assert.notEqual(taken()[0]?.buffer, frames.buffer);
    assert.equal(returns.counters.handed, 2);
    assert.deepEqual(fired, ["salt/event_listen/start"]);
    mock.timers.reset();
    fire(Uint8Array.of(5));
    await returns.close();
    assert.deepEqual(taken().at(-1), Uint8Array.of(5));
    assert.equal(bus.tap, undefined);
  });

  it("take no more memory than their bound while the thread hangs", async () => {
    const { returns, lane, fire, taken, lines } = opened();
    await new Promise((resolve) => setImmediate(resolve));
    lane.isHanging = true;
    const frames = new Uint8Array(eventsHandedBytesMax / 4);
    for (let left = 6; left > 0; left -= 1) fire(frames, 10);
    assert.equal(taken().length, 4);
    assert.deepEqual([returns.counters.dropped, returns.handedBytes], [20, eventsHandedBytesMax]);
    assert.equal(lines.filter((line) => line.includes("new ones are dropped")).length, 1);
  });

  it("are counted as lost when the thread fails, with all that waited in it", async () => {
    const { returns, lane, hand } = opened();
    lane.answer = answerOf({ ...writing, waiting: 7, counters: { ...counters, written: 3 } });
    await hand();
    lane.fault = new Error("hangs");
    await hand();
    assert.equal(returns.counters.lost, 1);
    lane.fault = undefined;
    lane.answer = answerOf({ ...writing, counters: { ...counters, written: 2 } }, "sw-events-1");
    await hand();
    const [status] = returns.status();
    assert.deepEqual([status?.counters.lost, status?.counters.written, status?.waiting], [7, 5, 0]);
    await returns.close();
  });

  it("show how far each returner is behind, and the log tells a failure once", async () => {
    const { returns, lane, lines, hand } = opened();
    await hand();
    lane.answer = answerOf(failing);
    await hand();
    await hand();
    const [status] = returns.status();
    assert.deepEqual(
      [status?.state, status?.waiting, status?.lagSeconds, status?.nextTrySeconds, status?.fault],
      ["failing", 5, 3, 0.5, "refused"],
    );
    lane.answer = answerOf(writing);
    await hand();
    assert.deepEqual([returns.status()[0]?.state, returns.status()[0]?.lastFault], ["writing", "refused"]);
    assert.deepEqual(
      lines.map((line) => line.split(" {")[0]),
      ["error a returner of events takes none: they wait in memory", "info a returner of events takes them again"],
    );
    await returns.close();
  });

  it("name what a returner refused, what was dropped, and what is lost when the master stops", async () => {
    const { returns, lane, lines, hand } = opened();
    lane.answer = answerOf({ ...failing, refusals: ['"tag": too large'], counters: { ...counters, dropped: 4 } });
    await hand();
    lane.answer = answerOf(failing);
    await returns.close();
    assert.match(lines[0] ?? "", /refused one, which is lost: "tag": too large/);
    assert.match(lines[2] ?? "", /too many events wait for a returner: new ones are dropped .*"dropped":4/);
    assert.match(lines.at(-1) ?? "", /are lost, because the master stops .*"lost":5,"fault":"refused"/);
  });

  it("cost nothing without event_return", async () => {
    const bus: Pick<Bus, "fire" | "tap"> = { tap: undefined, fire: () => assert.fail() };
    const returns = new EventReturns({ bus, events: undefined, logger: {} as Logger });
    assert.deepEqual([bus.tap, returns.isConfigured, returns.status()], [undefined, false, []]);
    await returns.close();
  });
});
