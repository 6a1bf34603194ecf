/** An event subscriber that does not read loses events. The master's memory does not grow, and other subscribers lose nothing. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { EventSubscriber, fireEvents } from "../../../src/transport/event-stream-client.ts";
import { encodeEvent, FrameReader, splitEvent } from "../../../src/wire/event.ts";
import { readCounters, startOurMaster, sumOf } from "../our-master.ts";

const subscriberBytesMax = 8 * 1024 * 1024;
const eventBytes = 128 * 1024;
/** A round has fewer events than a subscriber may have waiting. The next round begins when a reader has them all. */
const eventsPerRound = 16;
const roundCount = 150;
const eventCount = eventsPerRound * roundCount;
/** The allowed growth: the subscriber's bound, copies of a round under way, and garbage that is not collected yet. */
const growthBytesMax = subscriberBytesMax + 120 * 1024 * 1024;
/** A request for counters fires an event or two, which may be dropped, too. */
const otherEventsMax = 8;
const roundTimeoutMs = 30_000;

describe("a subscriber that does not read", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let reader: EventSubscriber | undefined;

  before(async () => {
    master = await startOurMaster(1, { event_subscriber_max_bytes: subscriberBytesMax });
    client = master.client();
  });
  after(async () => {
    reader?.close();
    client?.close();
    await master?.remove();
  });

  /** Bytes of the process in memory: `VmRSS` now, `VmHWM` at its peak. */
  function memoryBytes(field: "VmRSS" | "VmHWM"): number {
    const status = readFileSync(`/proc/${master.processId}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024;
  }

  it(`loses events of ${(eventCount * eventBytes) / 1024 / 1024} MB, whole ones, while a reader gets all and the master keeps its size`, async () => {
    const bus = join(master.socketDirectory, "master_event_pub.ipc");
    const slow = createConnection(bus).pause();
    await new Promise((resolve) => slow.once("connect", resolve));
    let received = 0;
    let onReceived = (): void => {};
    reader = await EventSubscriber.connect(bus, {
      onEvent: (body) => {
        if (splitEvent(body).tag === "load/event") received += 1;
        onReceived();
      },
      onClose: () => assert.fail("the bus closed"),
    });
    const droppedBefore = sumOf(await readCounters(client), /droppedEvents$/);
    const bytesBefore = memoryBytes("VmRSS");
    const round = Array.from({ length: eventsPerRound }, () =>
      encodeEvent("load/event", { filler: Buffer.alloc(eventBytes) }),
    );
    for (let index = 1; index <= roundCount; index += 1) {
      const hasAll = new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`the reader has ${received} of ${index * eventsPerRound}`)),
          roundTimeoutMs,
        );
        onReceived = () => {
          if (received < index * eventsPerRound) return;
          clearTimeout(timer);
          resolve();
        };
      });
      await fireEvents(join(master.socketDirectory, "master_event_pull.ipc"), round);
      await hasAll;
    }
    assert.equal(received, eventCount);
    const growth = memoryBytes("VmHWM") - bytesBefore;
    assert.ok(growth < growthBytesMax, `the master grew by ${growth} bytes`);
    const dropped = sumOf(await readCounters(client), /droppedEvents$/) - droppedBefore;
    assert.ok(dropped > eventCount / 2, `${dropped} events were dropped`);
    const late = await readAll(slow);
    const unaccounted = Math.abs(late + dropped - eventCount);
    assert.ok(late > 0 && unaccounted <= otherEventsMax, `${late} events came late, ${dropped} were dropped`);
  });

  /** Begins to read at last: the kept events come as complete frames. @returns the number of these events */
  async function readAll(slow: ReturnType<typeof createConnection>): Promise<number> {
    const frames = new FrameReader();
    let count = 0;
    const hasLast = new Promise<void>((resolve) => {
      slow.on("data", (chunk: Buffer) => {
        for (const body of frames.push(chunk)) {
          const { tag } = splitEvent(body);
          if (tag === "load/event") count += 1;
          if (tag === "load/last") resolve();
        }
      });
    });
    slow.resume();
    // Repeated until one arrives, because an event may be dropped while the backlog is read.
    let isThrough = false;
    void hasLast.then(() => {
      isThrough = true;
    });
    while (!isThrough) {
      await fireEvents(join(master.socketDirectory, "master_event_pull.ipc"), [encodeEvent("load/last", {})]);
      await Promise.race([hasLast, new Promise((resolve) => setTimeout(resolve, 100))]);
    }
    slow.destroy();
    return count;
  }
});
