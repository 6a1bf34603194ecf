/** The shipper of events: gathers as `event_return_queue` asks, writes each event once and in order, and keeps what waits within its bounds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EventRow, EventSink, EventsWritten } from "../../../src/databases/contract/events.ts";
import { EventShipper, type ShipperOptions } from "../../../src/databases/events/shipper.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { databaseRetryMsMax, databaseRowsMax } from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

/** Keeps rows as a table does: what is written twice is there twice. */
class Table implements EventSink {
  readonly name = "mysql";
  readonly place = "mysql://db:3306/salt";
  readonly rows: EventRow[] = [];
  readonly batches: number[] = [];
  isDown = false;
  /** Fails after the commit, as a connection does that is lost before the answer. */
  losesAnswer = false;
  checks = 0;
  refuses: (row: EventRow) => boolean = () => false;

  async check(): Promise<void> {
    this.checks += 1;
    if (this.isDown) throw new SaltworksError("DATABASE_FAILED", "down");
  }

  async write(rows: readonly EventRow[], { mayBePresent }: { readonly mayBePresent: boolean }): Promise<EventsWritten> {
    if (this.isDown) throw new SaltworksError("DATABASE_FAILED", "down");
    if (rows.some((row) => this.refuses(row))) throw new SaltworksError("DATABASE_REFUSED", "refused");
    const known = new Set(mayBePresent ? this.rows.map(({ serial }) => serial) : []);
    const added = rows.filter(({ serial }) => !known.has(serial));
    this.rows.push(...added);
    this.batches.push(rows.length);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      throw new SaltworksError("DATABASE_FAILED", "the connection was lost");
    }
    return { added: added.length, present: rows.length - added.length };
  }

  async close(): Promise<void> {}
}

const atOnce: ShipperOptions = {
  ...{ gatherEvents: 1, gatherMsMax: Number.POSITIVE_INFINITY },
  ...{ eventsMax: 10_000, bytesMax: 64 * 1024 * 1024 },
};

function opened(o: Partial<ShipperOptions> = {}) {
  const table = new Table();
  const shipper = new EventShipper(table, { ...atOnce, ...o });
  let serial = 0;
  const offer = (count: number, data: Encodable = { x: 1 }, atMs = 0) => {
    for (let left = count; left > 0; left -= 1) {
      serial += 1;
      shipper.offer({ tag: `tag/${serial}`, data: encode(data, "bin"), serial, atMs });
    }
  };
  /** Steps as long as there is something to do at this time. */
  const run = async (nowMs = 0) => {
    while (shipper.waitMs(nowMs) <= 0) await shipper.step(nowMs);
  };
  const serials = () => table.rows.map((row) => row.serial);
  return { table, shipper, offer, run, serials };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("the shipper of events", () => {
  it("connects before the first event, and says why it cannot", async () => {
    const { table, shipper } = opened();
    table.isDown = true;
    await shipper.step(0);
    assert.deepEqual([shipper.state(0).fault, shipper.state(0).hasAnswered, table.checks], ["down", false, 1]);
  });

  it("writes events in their order, as the JSON that Salt writes, in batches", async () => {
    const { table, shipper, offer, run, serials } = opened();
    offer(1, { text: "grüße", nested: [1, null, true], _stamp: "2026-11-20T16:09:08.845316" });
    offer(databaseRowsMax + 10);
    await run();
    assert.equal(
      table.rows[0]?.data,
      '{"text": "grüße", "nested": [1, null, true], "_stamp": "2026-11-20T16:09:08.845316"}',
    );
    assert.deepEqual(serials(), upTo(databaseRowsMax + 11));
    assert.deepEqual(table.batches, [databaseRowsMax, 11]);
    assert.equal(shipper.state(0).counters.written, databaseRowsMax + 11);
  });

  it("gathers events until there are enough, and writes all of them then", async () => {
    const { offer, run, serials, shipper } = opened({ gatherEvents: 10 });
    offer(9);
    await run(1_000_000);
    assert.deepEqual(serials(), []);
    assert.equal(shipper.waitMs(1_000_000), Number.POSITIVE_INFINITY);
    offer(3);
    await run(1_000_000);
    assert.deepEqual(serials(), upTo(12));
    offer(1);
    await run(2_000_000);
    assert.equal(serials().length, 12);
  });

  it("gathers no event for longer than event_return_queue_max_seconds", async () => {
    const { offer, run, serials, shipper } = opened({ gatherEvents: 100, gatherMsMax: 5_000 });
    await run();
    offer(1, {}, 1_000);
    offer(1, {}, 4_000);
    await run(5_999);
    assert.deepEqual(serials(), []);
    assert.equal(shipper.waitMs(5_999), 1);
    await run(6_000);
    assert.deepEqual(serials(), [1, 2]);
  });

  it("writes what it gathered when the master stops", async () => {
    const { offer, run, serials, shipper } = opened({ gatherEvents: 100 });
    offer(3);
    await run();
    shipper.finish();
    await run();
    assert.deepEqual(serials(), [1, 2, 3]);
  });

  it("keeps events while the returner is down, and tries later each time", async () => {
    const { table, shipper, offer, run, serials } = opened();
    table.isDown = true;
    offer(5);
    const waits: number[] = [];
    for (let nowMs = 0; waits.length < 12; ) {
      await shipper.step(nowMs);
      const waitMs = shipper.waitMs(nowMs);
      waits.push(waitMs);
      nowMs += waitMs;
    }
    for (const [index, waitMs] of waits.entries()) {
      const longestMs = Math.min(250 * 2 ** index, databaseRetryMsMax);
      assert.ok(waitMs >= longestMs / 2 && waitMs <= longestMs, `${index}: ${waitMs}`);
    }
    const { fault, waiting, counters, nextTryInMs } = shipper.state(0);
    assert.deepEqual([fault, waiting, counters.failures], ["down", 5, 12]);
    assert.ok((nextTryInMs ?? 0) > 0);
    table.isDown = false;
    await run(10_000_000);
    assert.deepEqual(serials(), upTo(5));
    assert.equal(shipper.state(0).fault, undefined);
  });

  it("writes no event twice when the answer to a commit was lost", async () => {
    const { table, shipper, offer, run, serials } = opened();
    await run();
    offer(5);
    table.losesAnswer = true;
    await run();
    offer(2);
    await run(10_000);
    assert.deepEqual(serials(), upTo(7));
    assert.deepEqual([shipper.state(0).counters.present, shipper.state(0).counters.written], [5, 2]);
  });

  it("leaves out only the event that the returner refuses, and names it", async () => {
    const { table, shipper, offer, run, serials } = opened();
    table.refuses = ({ serial }) => serial === 300;
    offer(1_000);
    await run();
    assert.deepEqual(
      serials(),
      upTo(1_000).filter((serial) => serial !== 300),
    );
    const { counters, refusals } = shipper.state(0);
    assert.deepEqual([counters.refused, counters.failures, refusals], [1, 0, ['"tag/300": refused']]);
    assert.deepEqual(shipper.state(0).refusals, []);
  });

  it("writes characters beyond U+FFFF as escapes if the table does not hold them", async () => {
    const { table, offer, run, shipper } = opened();
    table.refuses = ({ data }) => data.includes("\u{1f9c2}");
    offer(1, { text: "salt \u{1f9c2}" });
    await run();
    assert.equal(table.rows[0]?.data, '{"text": "salt \\ud83e\\uddc2"}');
    assert.equal(shipper.state(0).counters.refused, 0);
  });

  it("names an event that cannot be decoded, once, however often its batch is tried", async () => {
    const { table, shipper, offer, run, serials } = opened();
    await run();
    offer(1);
    shipper.offer({ tag: "torn", data: Uint8Array.of(0x81), serial: 0, atMs: 0 });
    offer(1);
    table.isDown = true;
    await run();
    table.isDown = false;
    await run(10_000);
    assert.deepEqual(serials(), [1, 2]);
    const { counters, refusals } = shipper.state(0);
    assert.equal(counters.refused, 1);
    assert.match(refusals[0] ?? "", /^"torn": /);
  });

  it("keeps the oldest events when too many wait, and counts the others", async () => {
    const { table, shipper, offer, run, serials } = opened({ eventsMax: 100 });
    table.isDown = true;
    offer(250);
    await run();
    assert.deepEqual([shipper.state(0).waiting, shipper.state(0).counters.dropped], [100, 150]);
    table.isDown = false;
    await run(10_000);
    offer(1);
    await run(10_000);
    assert.deepEqual(serials(), [...upTo(100), 251]);
  });

  it("keeps no more bytes than its bound, and gathers no further when that is reached", async () => {
    const { shipper, offer, run, serials } = opened({ bytesMax: 100_000, gatherEvents: 1_000 });
    await run();
    offer(20, { text: "x".repeat(10_000) });
    const { waiting, waitingBytes, counters } = shipper.state(0);
    assert.deepEqual([waiting, counters.dropped], [9, 11]);
    assert.ok(waitingBytes > 90_000 && waitingBytes <= 100_000);
    await run();
    assert.deepEqual([serials(), shipper.state(0).waitingBytes], [upTo(9), 0]);
  });

  it("tells the age of the oldest event", () => {
    const { shipper, offer } = opened();
    assert.equal(shipper.state(500).oldestAgeMs, undefined);
    offer(2, {}, 100);
    assert.equal(shipper.state(500).oldestAgeMs, 400);
  });
});
