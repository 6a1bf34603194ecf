import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { EventStreams, type StreamForm, type StreamOptions } from "../../src/api/streams/event-streams.ts";
import type { EventListener } from "../../src/client/event-hub.ts";
import { SaltworksError } from "../../src/errors.ts";
import { apiDigestMs, apiStreamLookMs, apiStreamsUnreadBytesMax, apiStreamUnreadBytesMax } from "../../src/limits.ts";
import { encodeEvent } from "../../src/wire/event.ts";

/** The event bus of a master, by hand. */
class Bus {
  #onEvent: EventListener = () => undefined;

  /** Events may have been missed. */
  lose: () => void = () => undefined;

  watch(onEvent: EventListener, onGap: () => void = () => undefined): () => void {
    this.#onEvent = onEvent;
    this.lose = onGap;
    return () => undefined;
  }

  fire(body: Uint8Array): void {
    this.#onEvent(body, true);
  }

  async tried(): Promise<void> {}
}

/** A connection whose other end reads nothing. */
class Unread {
  writableLength = 0;
  destroyed = false;
  text = "";
  readonly #weigh: (bytes: Uint8Array) => number;

  constructor(weigh = (bytes: Uint8Array) => bytes.byteLength) {
    this.#weigh = weigh;
  }

  write(bytes: Uint8Array): boolean {
    this.writableLength += this.#weigh(bytes);
    if (bytes.byteLength < 10_000) this.text += Buffer.from(bytes).toString();
    return false;
  }

  destroy(): void {
    this.destroyed = true;
    this.writableLength = 0;
  }

  once(): void {}
}

describe("streams of events", () => {
  let bus: Bus;
  let streams: EventStreams;
  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    bus = new Bus();
    streams = new EventStreams(bus);
  });
  afterEach(() => {
    streams.close();
    mock.timers.reset();
  });

  const open = (output: Unread, options: Partial<StreamOptions> = {}, form: StreamForm = "events") => {
    const asked = { isWanted: undefined, isAllowed: () => true, lastId: undefined, isWaiting: false, ...options };
    const way = { end: () => output.destroy(), ping: () => undefined };
    return streams.open({ form, output: output as unknown as StreamOptions["output"], ...way, ...asked });
  };
  const bytesOf = (outputs: readonly Unread[]) => outputs.reduce((sum, { writableLength }) => sum + writableLength, 0);

  it("hold what readers that come back have missed within the bound of all, before the next event", async () => {
    await streams.ready();
    for (let index = 0; index < 10; index += 1) bus.fire(encodeEvent("big", { text: "x".repeat(1024 * 1024) }));
    mock.timers.tick(100);
    const outputs = Array.from({ length: 60 }, () => new Unread());
    for (const output of outputs) open(output, { lastId: "00000000-0" });
    assert.ok(bytesOf(outputs) <= apiStreamsUnreadBytesMax, `${bytesOf(outputs)} bytes wait`);
    assert.ok(streams.counters.closedUnread > 0);
    assert.ok(streams.count > 0);
  });

  it("go on after what has no tag, and after a look at a session that cannot be read", () => {
    const output = new Unread();
    let look = (): boolean => {
      throw new SaltworksError("STORE_FAILED", "a session could not be read");
    };
    open(output, { isAllowed: () => look() });
    bus.fire(Buffer.from("no separator"));
    assert.equal(streams.counters.unreadable, 1);
    mock.timers.tick(apiStreamLookMs);
    bus.fire(encodeEvent("after", {}));
    mock.timers.tick(100);
    assert.match(output.text, /^tag: after\n/);
    look = () => false;
    mock.timers.tick(apiStreamLookMs);
    assert.deepEqual([output.destroyed, streams.count], [true, 0]);
  });

  it("pass a filter by telling of a gap, and not by its name", () => {
    const output = new Unread();
    open(output, { isWanted: (tag) => tag === "wanted" });
    bus.fire(encodeEvent("saltworks/events/gap", { reason: "made up" }));
    bus.lose();
    bus.fire(encodeEvent("wanted", {}));
    mock.timers.tick(100);
    assert.deepEqual(output.text.match(/data: .*/g), [
      'data: {"tag": "saltworks/events/gap", "data": {"reason": "master"}}',
      'data: {"tag": "wanted", "data": {}}',
    ]);
    assert.equal(streams.counters.gaps, 1);
  });

  it("hold summaries within the bound of all, before the next event", () => {
    const count = apiStreamsUnreadBytesMax / apiStreamUnreadBytesMax + 10;
    const outputs = Array.from({ length: count }, () => new Unread(() => apiStreamUnreadBytesMax));
    for (const output of outputs) open(output, {}, "digests");
    bus.fire(encodeEvent("salt/job/20261126000000000000/new", { minions: ["m1"] }));
    mock.timers.tick(apiDigestMs);
    assert.ok(bytesOf(outputs) > 0);
    assert.ok(bytesOf(outputs) <= apiStreamsUnreadBytesMax, `${bytesOf(outputs)} bytes wait`);
  });
});
