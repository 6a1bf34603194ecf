/** The contract of every database that gets copies of jobs. A driver's test calls this with a function that makes an empty database. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { DatabaseName } from "../../src/config/options/job-cache-drivers.ts";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { openDatabase } from "../../src/databases/registry.ts";
import { hasCode } from "../../src/errors.ts";
import { decode } from "../../src/wire/msgpack.ts";
import { plain } from "../plain.ts";
import type { DatabaseContext, DatabaseUnderTest, JobDatabaseTraits } from "./job-database-context.ts";
import { databaseFaultsContract } from "./job-database-faults.ts";
import { databaseMigrationContract } from "./job-database-migration.ts";
import { databaseReadsContract } from "./job-database-reads.ts";
import { databaseTextContract } from "./job-database-text.ts";
import { jid, published, returned } from "./job-rows.ts";

const timeoutMs = 300_000;

export function jobDatabaseContract(
  name: DatabaseName,
  start: () => Promise<DatabaseUnderTest>,
  traits: JobDatabaseTraits,
): void {
  describe(`job database contract: ${name}`, { timeout: timeoutMs, skip: traits.skip }, () => {
    let under: DatabaseUnderTest;
    const opened: JobDatabase[] = [];
    before(async () => {
      under = await start();
    });
    after(() => under?.remove());
    beforeEach(async () => {
      await open().createSchema();
      await under.clear();
    });
    afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

    function open(o?: { readonly port?: number; readonly masterId?: string }): JobDatabase {
      const database = openDatabase(under.config(o), name);
      opened.push(database);
      return database;
    }

    /** The one that `beforeEach` opened. */
    function database(): JobDatabase {
      const [first] = opened;
      assert.ok(first !== undefined);
      return first;
    }

    const context: DatabaseContext = {
      traits,
      under: () => under,
      database,
      open,
      write: (rows, mayBePresent = false) => database().write(rows, { mayBePresent }),
      storedValue: async (minionId, jobId = jid) => {
        const body = await database().reader.returnOf(jobId, minionId);
        assert.ok(body !== undefined, `there is a return of ${JSON.stringify(minionId)}`);
        return (plain(decode(body)) as { return: unknown }).return;
      },
      counts: async () => ({ job: await under.count("job"), return: await under.count("return") }),
      isDown: (error) =>
        hasCode(error, "DATABASE_FAILED") && !String(error).includes(under.server?.password ?? "no password"),
    };
    writesContract(context);
    databaseTextContract(context);
    databaseReadsContract(context);
    databaseMigrationContract(name, context);
    concurrencyContract(context);
    if (traits.hasServer) databaseFaultsContract(context);
  });
}

function writesContract({ write, counts, database, storedValue, traits }: DatabaseContext): void {
  it("makes its tables once", async () => {
    assert.deepEqual(await database().createSchema(), []);
    await database().check();
  });

  it("adds rows that may be there only if they are not", async () => {
    const rows = [published(jid), returned("a", 1), returned("b", 2)];
    await write(rows.slice(0, 2));
    assert.deepEqual(await write([...rows, returned("A", 3)], true), { jobs: 0, returns: 2, present: 2 });
    assert.deepEqual(await write(rows, true), { jobs: 0, returns: 0, present: 3 });
    assert.deepEqual(await counts(), { job: 1, return: 3 });
  });

  it("adds a return once that is twice among rows that may be there", async () => {
    assert.deepEqual(await write([returned("a", 1), returned("b", 1), returned("a", 1)], true), {
      jobs: 0,
      returns: 2,
      present: 1,
    });
    assert.deepEqual(await counts(), { job: 0, return: 2 });
    assert.deepEqual(await write([published(jid), published(jid), published(`${jid}_2`)]), {
      jobs: 3,
      returns: 0,
      present: 0,
    });
    assert.equal((await counts()).job, 2);
  });

  it("keeps one of two requests of a job", async () => {
    await write([published(jid, "test.first")]);
    await write([published(jid, "test.second")]);
    const load = await database().reader.request(jid);
    const kept = traits.keepsFirstJob ? "test.first" : "test.second";
    assert.equal((plain(decode(load ?? new Uint8Array())) as { fun: string }).fun, kept);
    // As a migration writes it: what is there stays as it is.
    assert.deepEqual(await write([published(jid, "test.third")], true), { jobs: 0, returns: 0, present: 1 });
    assert.deepEqual(await database().reader.request(jid), load);
  });

  it("writes thousands of rows at once", async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => returned(`m${index}`, { index, text: "x".repeat(100) }));
    assert.deepEqual(await write([published(jid), ...many]), { jobs: 1, returns: 2_000, present: 0 });
    assert.deepEqual(await counts(), { job: 1, return: 2_000 });
    assert.deepEqual(await storedValue("m1999"), { index: 1_999, text: "x".repeat(100) });
    assert.deepEqual(await write(many, true), { jobs: 0, returns: 0, present: 2_000 });
  });

  const { refused } = traits;
  if (refused === undefined) return;
  it("writes no row of a transaction in which one is refused, and takes rows afterwards", async () => {
    await assert.rejects(write([published(jid), returned("a", 1), refused()]), { code: "DATABASE_REFUSED" });
    assert.deepEqual(await counts(), { job: 0, return: 0 });
    await write([returned("a", 1)]);
    assert.equal((await counts()).return, 1);
  });
}

function concurrencyContract({ open, write, counts, database }: DatabaseContext): void {
  it("takes rows of several masters at the same time", async () => {
    const masters = ["one", "two", "three"].map((masterId) => ({ masterId, own: open({ masterId }) }));
    await Promise.all(
      masters.map(async ({ masterId, own }) => {
        for (let round = 0; round < 5; round += 1) {
          const jobId = `${jid}_${masterId}${round}`;
          const rows = Array.from({ length: 50 }, (_, index) => returned(`m${index}`, round, {}, jobId));
          await own.write([published(jobId), ...rows], { mayBePresent: round % 2 === 1 });
        }
      }),
    );
    assert.deepEqual(await counts(), { job: 15, return: 750 });
  });

  it("answers while rows are written", async () => {
    const rows = Array.from({ length: 500 }, (_, index) => returned(`m${index}`, index));
    await write([published(jid), returned("first", true)]);
    const answers = Array.from({ length: 20 }, () => database().reader.returnOf(jid, "first"));
    const [, ...found] = await Promise.all([write(rows), ...answers]);
    assert.ok(found.every((body) => body !== undefined));
    assert.equal((await counts()).return, 501);
  });

  it("lets a successor of the same master write, and doubles nothing", async () => {
    const [earlier, later] = [open(), open()];
    const rows = [published(jid), returned("a", 1)];
    await earlier.write(rows, { mayBePresent: false });
    assert.deepEqual(await later.write([...rows, returned("b", 1)], { mayBePresent: true }), {
      jobs: 0,
      returns: 1,
      present: 2,
    });
    const again = () => earlier.write([returned("b", 1), returned("c", 1)], { mayBePresent: true });
    await again().catch(again);
    assert.deepEqual(await counts(), { job: 1, return: 3 });
  });
}
