/** Which parts of a master get the events of returns that another member of the cluster took. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import pino from "pino";
import { type ReturnParts, storeReturns } from "../../../src/master/cluster/member-returns.ts";
import { Bus } from "../../../src/master/ports/bus.ts";
import { EventSubscriber } from "../../../src/transport/event-stream-client.ts";
import { decodeEvent, encodeEvent, frameMasterEvent } from "../../../src/wire/event.ts";
import type { MemberReturnsTask } from "../../../src/workers/messages/member-returns.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const one = {
  jid: "20260101000000000001",
  minionId: "web1",
  body: Uint8Array.of(0x80),
  isStored: true,
  isFailed: false,
};
const tag = `salt/job/${one.jid}/ret/web1`;

describe("events of what another member of the cluster took", () => {
  const temporary = temporaryDirectories();
  let sockDir: string;
  let bus: Bus;
  let tapped: number[];
  let reacted: number[];
  const tasks: MemberReturnsTask[] = [];
  let noted: object[];

  const parts = (): ReturnParts => ({
    bus,
    pool: {
      slotCount: 1,
      offer: async (_: number, { build }: { build: () => { task: MemberReturnsTask } }) => {
        const { task } = build();
        tasks.push(task);
        const frame = frameMasterEvent(encodeEvent(tag, {}));
        const events = task.isHeard ? Uint8Array.from(frame) : new Uint8Array();
        return {
          buffer: events.buffer,
          eventsStart: 0,
          eventCount: task.isHeard ? 1 : 0,
          returnEvents: new Uint32Array(),
        };
      },
    } as unknown as ReturnParts["pool"],
    partitioner: { slotOf: () => 0 },
    jobs: { isListening: false, noteReturns: (result: object) => void noted.push(result) },
    start: { cluster: undefined },
  });

  beforeEach(async () => {
    [tapped, reacted, noted, tasks.length] = [[], [], [], 0];
    sockDir = temporary();
    bus = await Bus.open({ sockDir, subscriberBytesMax: 1_000_000, logger: pino({ enabled: false }) });
    bus.tap = (_, count) => void tapped.push(count);
    bus.reactor = (frames) => void reacted.push(frames.byteLength);
  });
  afterEach(() => bus.close());

  it("come to subscribers, and neither to the reactor nor to event returns", async () => {
    const tags: string[] = [];
    let heard: () => void = () => undefined;
    const all = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const subscriber = await EventSubscriber.connect(join(sockDir, "master_event_pub.ipc"), {
      onEvent: (body) => {
        tags.push(decodeEvent(body).tag);
        if (tags.at(-1) === "last") heard();
      },
      onClose: () => undefined,
    });
    while (!bus.isSubscribed) await nextTurn();
    await storeReturns(parts(), [one], true);
    bus.fireElsewhere(`salt/job/${one.jid}/new`, {});
    assert.deepEqual([tapped, reacted], [[], []]);
    bus.fire("last", {});
    assert.deepEqual([tapped, reacted.length], [[1], 1]);
    await all;
    subscriber.close();
    assert.deepEqual(tags, [tag, `salt/job/${one.jid}/new`, "last"]);
    assert.equal(noted.length, 1);
  });

  it("are not made for the reactor alone", async () => {
    await storeReturns(parts(), [one], true);
    assert.deepEqual(
      tasks.map(({ isHeard }) => isHeard),
      [false],
    );
    assert.deepEqual([tapped, reacted, noted.length], [[], [], 1]);
  });
});
