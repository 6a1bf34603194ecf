/** The contract of databases that get the master's events: rows in their order, each once after an attempt with an unknown end. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { MasterConfig } from "../../src/config/schema.ts";
import type { EventRow, EventSink, EventsWritten } from "../../src/databases/contract/events.ts";
import { openEventSink } from "../../src/databases/events/registry.ts";
import { hasCode } from "../../src/errors.ts";
import { BlackHole } from "../databases/black-hole.ts";
import { isDownWithout } from "./job-rows.ts";

type Name = "mysql" | "pgjsonb" | "postgres";

export type EventTableUnderTest = {
  readonly port: number;
  readonly password: string;
  /** `port`: of something between the master and the server. */
  config(o: { readonly port?: number; readonly masterId?: string }): MasterConfig;
  sql(statements: string): string[];
  remove(): Promise<void>;
};

/** `refused`: data that the database refuses for what it holds, as JSON. */
export type EventTableTraits = { readonly skip: string | false; readonly refused: () => string };

const rowOf = (serial: number, tag = "tag", data = `{"x": ${serial}}`): EventRow => ({ tag, data, serial });
const numbered = (...serials: readonly number[]) => serials.map((serial) => rowOf(serial));
const firstTime = { mayBePresent: false };
const unsure = { mayBePresent: true };

export function eventTableContract(name: Name, start: () => Promise<EventTableUnderTest>, traits: EventTableTraits) {
  describe(`the contract of tables of events: ${name}`, { skip: traits.skip, timeout: 180_000 }, () => {
    const opened: EventSink[] = [];
    let under: EventTableUnderTest;

    before(async () => {
      under = await start();
    });
    after(() => under?.remove());
    beforeEach(() => void under.sql("DELETE FROM salt_events"));
    afterEach(() => Promise.all(opened.splice(0).map((sink) => sink.close())));

    /** Asked for its table, as before its first write. */
    async function open(o: { readonly port?: number; readonly masterId?: string } = {}): Promise<EventSink> {
      const sink = openEventSink(under.config(o), name);
      opened.push(sink);
      await sink.check();
      return sink;
    }

    const stored = () => under.sql("SELECT tag, data, master_id FROM salt_events ORDER BY id");

    it("holds thousands of rows in their order, any text, and tags that are cut to its width", async () => {
      const sink = await open();
      const many = Array.from({ length: 600 }, (_, index) => rowOf(index));
      assert.deepEqual(await sink.write(many, firstTime), { added: 600, present: 0 });
      assert.deepEqual(
        stored(),
        many.map(({ data }) => `tag\t${data}\tthe_master`),
      );
      under.sql("DELETE FROM salt_events");
      const hostile = `{"a": "'); DROP TABLE salt_events; -- $1 {a,b} \u{1f9c2}"}`;
      const tag = `${"x".repeat(254)}\u{1f9c2}`;
      await sink.write([rowOf(1, `${tag}yz`, hostile)], firstTime);
      assert.deepEqual(stored(), [`${tag}\t${hostile}\tthe_master`]);
      assert.deepEqual(await sink.write([rowOf(1, `${tag}yz`, hostile)], unsure), { added: 1, present: 0 });
    });

    it("gets rows of an attempt with an unknown end only if they are not there, equal ones as often as they came", async () => {
      const sink = await open();
      await sink.write(numbered(1, 2), firstTime);
      const other = await open();
      await other.write(numbered(2, 2, 3), firstTime);
      assert.deepEqual(await retried(sink, numbered(2, 2, 3, 4)), { added: 1, present: 3 });
      assert.deepEqual(numbersIn(under), [1, 2, 2, 2, 3, 4]);
    });

    it("takes data for the same however the table writes it, and the rows of another master for others", async () => {
      const odd = [
        rowOf(1, "tag", '{"x": 1, "b": "\\u0041\\n", "a": [1.50, null, {"bb": 1, "a": 2}]}'),
        rowOf(2, "t'a\"g\\"),
      ];
      const other = await open({ masterId: "another" });
      const [sink, same] = [await open(), await open()];
      await other.write(odd, firstTime);
      assert.deepEqual(await retried(sink, odd), { added: 2, present: 0 });
      await same.check();
      assert.deepEqual(await retried(same, odd), { added: 0, present: 2 });
      assert.equal(stored().length, 4);
    });

    faultsContract({ under: () => under, open, stored, refused: traits.refused, emptied: emptyingOf(name) });
  });
}

/** Empties the table, whose rows get their numbers from 1 again. */
function emptyingOf(name: Name): string {
  return name === "mysql"
    ? "TRUNCATE salt_events"
    : "TRUNCATE salt_events; SELECT setval('seq_salt_events_id', 1, false)";
}

type Context = {
  under(): EventTableUnderTest;
  open(o?: { readonly port?: number }): Promise<EventSink>;
  stored(): readonly string[];
  refused(): string;
  readonly emptied: string;
};

function faultsContract({ under, open, stored, refused, emptied }: Context): void {
  it("has nothing of a batch whose connection ends in it, and each row once when the answer to the commit was lost", async () => {
    const proxy = await BlackHole.open(under().port);
    try {
      const sink = await open({ port: proxy.port });
      const many = Array.from({ length: 300 }, (_, index) => rowOf(index));
      proxy.cutAfter(5_000);
      await assert.rejects(sink.write(many, firstTime), (error: Error) => isDownWithout(under().password, error));
      assert.deepEqual(stored(), []);
      proxy.loseAnswerTo("COMMIT");
      await sink.check();
      await assert.rejects(sink.write(many, unsure), (error: Error) => isDownWithout(under().password, error));
      assert.equal(stored().length, 300);
      proxy.pass();
      await sink.check();
      assert.deepEqual(await sink.write([...many, rowOf(300)], unsure), { added: 1, present: 300 });
      assert.deepEqual(
        numbersIn(under()),
        Array.from({ length: 301 }, (_, index) => index),
      );
    } finally {
      proxy.close();
    }
  });

  it("doubles nothing in a table that was emptied and numbers its rows anew", async () => {
    const proxy = await BlackHole.open(under().port);
    try {
      const sink = await open({ port: proxy.port });
      await sink.write(numbered(1, 2, 3, 4, 5), firstTime);
      under().sql(emptied);
      proxy.loseAnswerTo("COMMIT");
      await assert.rejects(sink.write(numbered(6, 7), unsure));
      proxy.pass();
      await sink.check();
      assert.deepEqual(await retried(sink, numbered(6, 7, 8)), { added: 1, present: 2 });
      assert.deepEqual(numbersIn(under()), [6, 7, 8]);
    } finally {
      proxy.close();
    }
  });

  it("refuses a row for what it holds, and none of its batch is there", async () => {
    const sink = await open();
    const batch = [rowOf(1), rowOf(2, "odd", refused())];
    for (const how of [firstTime, unsure]) {
      await assert.rejects(sink.write(batch, how), { code: "DATABASE_REFUSED" });
      assert.deepEqual(stored(), []);
    }
    await sink.write([rowOf(1)], firstTime);
    assert.equal(stored().length, 1);
  });

  it("says how to make its table", async () => {
    under().sql("ALTER TABLE salt_events RENAME TO elsewhere");
    try {
      await assert.rejects(open(), /salt_events.*jobs\.create_schema/);
    } finally {
      under().sql("ALTER TABLE elsewhere RENAME TO salt_events");
    }
  });
}

function numbersIn(table: EventTableUnderTest): number[] {
  const data = table.sql("SELECT data FROM salt_events ORDER BY id");
  return data.map((text) => (JSON.parse(text) as { x: number }).x);
}

/** As the shipper does: the first attempt may meet a closed connection. */
async function retried(sink: EventSink, rows: readonly EventRow[]): Promise<EventsWritten> {
  try {
    return await sink.write(rows, unsure);
  } catch (error) {
    assert.ok(hasCode(error, "DATABASE_FAILED"));
    await sink.check();
    return await sink.write(rows, unsure);
  }
}
