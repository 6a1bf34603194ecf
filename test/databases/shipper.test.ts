/** The shipper copies the feed into a database: each row once, whatever fails, and a row that the database refuses holds up no other. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { BroughtRows } from "../../src/databases/brought-rows.ts";
import type { JobDatabase, Written } from "../../src/databases/contract/database.ts";
import type { Row } from "../../src/databases/contract/rows.ts";
import { Shipper } from "../../src/databases/shipper.ts";
import { SaltworksError } from "../../src/errors.ts";
import { broughtRowsSettleMs, databaseCopyRowsMax, databaseCutsMax, databaseTrialsMax } from "../../src/limits.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import type { JobCache } from "../../src/store/jobs/job-cache.ts";
import type { JobFeed } from "../../src/store/jobs/job-feed.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const jid = "20260102030405000001";

/** A database without a key over job and minion, as Salt's tables are: what is written twice is there twice. */
class ForgetfulDatabase {
  readonly rows: string[] = [];
  /** Fails after the commit, as a connection does that is lost before the answer. */
  losesAnswer = false;
  isDown = false;
  /** The connection ends without an answer. */
  cuts: (row: Row) => boolean = () => false;
  refuses: (row: Row) => boolean = () => false;
  checks = 0;
  /** A write waits for this. */
  before: () => Promise<void> = async () => undefined;
  isWriting = false;

  async check(): Promise<void> {
    if (this.isDown) throw new SaltworksError("DATABASE_FAILED", "down");
  }

  async write(rows: readonly Row[], { mayBePresent }: { readonly mayBePresent: boolean }): Promise<Written> {
    this.isWriting = true;
    await this.before();
    this.isWriting = false;
    if (this.isDown) throw new SaltworksError("DATABASE_FAILED", "down");
    if (rows.some((row) => this.cuts(row))) throw new SaltworksError("DATABASE_FAILED", "cut", { isCut: true });
    if (rows.some((row) => this.refuses(row))) throw new SaltworksError("DATABASE_REFUSED", "refused");
    if (mayBePresent) this.checks += 1;
    const added = rows.filter((row) => !mayBePresent || !this.rows.includes(nameOf(row)));
    this.rows.push(...added.map(nameOf));
    if (this.losesAnswer) {
      this.losesAnswer = false;
      throw new SaltworksError("DATABASE_FAILED", "the connection was lost");
    }
    const jobs = added.filter(({ kind }) => kind === "job").length;
    return { jobs, returns: added.length - jobs, present: rows.length - added.length };
  }
}

function nameOf(row: Row): string {
  return row.kind === "job" ? `job ${row.jid}` : `${row.jid} ${row.minionId}`;
}

describe("the shipper", () => {
  const temporary = temporaryDirectories();
  let jobs: JobCache;
  let feed: JobFeed;
  let database: ForgetfulDatabase;
  let shipper: Shipper;
  let config: Parameters<typeof lmdbDriver.open>[0];

  beforeEach(() => {
    config = { cachedir: temporary(), hash_type: "sha256", master_job_cache: "mysql", job_cache_durability: "fsync" };
    jobs = lmdbDriver.open(config, {});
    feed = lmdbDriver.openFeed(config);
    database = new ForgetfulDatabase();
    shipper = newShipper();
  });
  afterEach(() => Promise.all([jobs.close(), feed.close()]));

  /** As after a restart of the master. */
  function newShipper(): Shipper {
    return new Shipper(feed, database as unknown as JobDatabase, new BroughtRows(config.cachedir, "mysql"));
  }

  async function store(ids: readonly string[]): Promise<void> {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns(ids.map((id) => returnOf(jid, id)));
    await jobs.close();
    jobs = lmdbDriver.open(config, {});
  }

  const all = (ids: readonly string[]) => [`job ${jid}`, ...ids.map((id) => `${jid} ${id}`)].sort();
  const shipped = () => [...new Set(database.rows)].sort();

  it("copies jobs and returns, and then nothing more", async () => {
    await store(["a", "b"]);
    const step = await shipper.step();
    assert.deepEqual([step.jobs, step.returns, step.feed.waiting, step.fault], [1, 2, 0, undefined]);
    assert.deepEqual(shipped(), all(["a", "b"]));
    assert.equal((await shipper.step()).batches, 0);
  });

  it("leaves rows that come while it writes to the next step, where they are more", async () => {
    await store(["a"]);
    database.before = async () => {
      database.before = async () => undefined;
      await store(["b", "c"]);
    };
    const first = await shipper.step();
    assert.deepEqual([first.returns, first.batches, first.hasMore], [1, 1, false]);
    const second = await shipper.step();
    assert.deepEqual([second.returns, second.batches, second.feed.waiting], [2, 1, 0]);
  });

  it("says that the database is down while nothing waits for it, until it is there", async () => {
    database.isDown = true;
    const { fault, feed: state } = await shipper.step();
    assert.deepEqual([fault, state.waiting], ["down", 0]);
    assert.equal((await shipper.step()).fault, "down");
    database.isDown = false;
    assert.equal((await shipper.step()).fault, undefined);
  });

  it("writes no row twice when the answer to a commit was lost", async () => {
    await store(["a", "b"]);
    database.losesAnswer = true;
    assert.equal((await shipper.step()).fault, "the connection was lost");
    const step = await shipper.step();
    assert.deepEqual([step.present, step.feed.waiting], [3, 0]);
    assert.deepEqual(database.rows.sort(), all(["a", "b"]));
  });

  it("writes no row twice when the master was killed between commit and mark", async () => {
    await store(["a", "b"]);
    database.losesAnswer = true;
    await shipper.step();
    shipper = newShipper();
    await shipper.step();
    assert.deepEqual(database.rows.sort(), all(["a", "b"]));
  });

  it("asks for rows that may be there only where that is unknown", async () => {
    const ids = Array.from({ length: databaseCopyRowsMax * 3 }, (_, index) => `m${index}`);
    await store(ids);
    for (let step = await shipper.step(); step.feed.waiting > 0; ) step = await shipper.step();
    assert.equal(database.checks, 1);
    assert.equal(database.rows.length, ids.length + 1);
  });

  it("makes the next rows while the database writes, and drops them if it fails", async () => {
    const ids = Array.from({ length: databaseCopyRowsMax * 2 }, (_, index) => `m${String(index).padStart(6, "0")}`);
    await store(ids);
    const readBehind = new Promise<void>((resolve) => {
      const read = feed.read.bind(feed);
      feed.read = (part, o) => {
        const found = read(part, o);
        if (database.isWriting && o.after !== undefined && found.length > 0) resolve();
        return found;
      };
    });
    database.before = () => readBehind;
    database.losesAnswer = true;
    assert.equal((await shipper.step()).fault, "the connection was lost");
    for (let step = await shipper.step(); step.feed.waiting > 0; ) step = await shipper.step();
    assert.equal(database.rows.length, ids.length + 1);
    assert.deepEqual(shipped(), all(ids));
  });

  it("asks for rows that a migration read from the logs, until the logs of that time are in the feed", async () => {
    let nowMs = 0;
    const brought = new BroughtRows(config.cachedir, "mysql", () => nowMs);
    shipper = new Shipper(feed, database as unknown as JobDatabase, brought);
    nowMs = 2 * broughtRowsSettleMs;
    await shipper.step();
    brought.begin();
    database.rows.push(...all(["a"]));
    brought.end();
    // Nothing is in the feed yet, because the store's next transaction feeds what its log holds.
    await shipper.step();
    await store(["a"]);
    const step = await shipper.step();
    assert.deepEqual([step.present, database.rows], [2, all(["a"])]);
    nowMs += broughtRowsSettleMs;
    await shipper.step();
    assert.equal(brought.mayWait, false);
  });

  it("keeps everything while the database is down, and copies it afterwards", async () => {
    await store(["a"]);
    database.isDown = true;
    const down = await shipper.step();
    assert.deepEqual([down.fault, down.feed.waiting, down.batches], ["down", 2, 0]);
    database.isDown = false;
    assert.equal((await shipper.step()).feed.waiting, 0);
    assert.deepEqual(shipped(), all(["a"]));
  });

  it("leaves out only the row that the database refuses, and names it", async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
    await store(ids);
    database.refuses = (row) => row.kind === "return" && row.minionId === "m42";
    const step = await shipper.step();
    assert.deepEqual([step.refused, step.feed.waiting, step.returns], [1, 0, 99]);
    assert.match(step.refusals[0] ?? "", /^return of minion "m42" of job "20260102030405000001": refused$/);
  });

  it("leaves out only rows that end the connection each time, and names them", async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
    const bad = ["m42", "m43", "m77"];
    await store(ids);
    database.cuts = (row) => row.kind === "return" && bad.includes(row.minionId);
    const refusals: string[] = [];
    let steps = 0;
    for (let waiting = 1; waiting > 0; steps += 1) {
      assert.ok(steps < 100, "the feed stands still");
      const step = await shipper.step();
      refusals.push(...step.refusals);
      waiting = step.feed.waiting;
    }
    assert.deepEqual(
      refusals.map((text) => /minion "(m\d+)".*: cut$/.exec(text)?.[1]),
      bad,
    );
    assert.deepEqual(shipped(), all(ids.filter((id) => !bad.includes(id))));
    assert.equal(database.rows.length, 98);
  });

  it("refuses no row while the database takes none, or while it is the only one", async () => {
    await store(["a", "b", "c"]);
    database.cuts = () => true;
    for (let steps = 0; steps < 40; steps += 1) {
      const step = await shipper.step();
      assert.deepEqual([step.refused, step.feed.waiting, step.fault], [0, 4, "cut"]);
    }
    database.cuts = (row) => row.kind === "return" && row.minionId === "c";
    let waiting = 4;
    for (let steps = 0; steps < 40; steps += 1) {
      const step = await shipper.step();
      waiting = step.feed.waiting;
    }
    assert.equal(waiting, 1);
    assert.deepEqual(shipped(), all(["a", "b"]));
    database.cuts = () => false;
    await shipper.step();
    assert.deepEqual(shipped(), all(["a", "b", "c"]));
  });

  it("refuses no row for crashes that only coincide with its turn", async () => {
    await store(["a", "b", "c"]);
    const name = `${jid} b`;
    const write = database.write.bind(database);
    let alone = 0;
    const chance = databaseCutsMax + databaseTrialsMax - 1;
    database.write = async (rows, o) => {
      const isMeant = rows.some((row) => nameOf(row) === name);
      if (rows.length === 1 && isMeant) alone += 1;
      if (isMeant && alone <= chance) throw new SaltworksError("DATABASE_FAILED", "cut", { isCut: true });
      return await write(rows, o);
    };
    for (let waiting = 1, steps = 0; waiting > 0; steps += 1) {
      assert.ok(steps < 100, "the feed stands still");
      const step = await shipper.step();
      assert.deepEqual(step.refusals, []);
      waiting = step.feed.waiting;
    }
    assert.ok(alone > chance, "the row was tried alone as often as one that is to be refused, but for once");
    assert.deepEqual(database.rows.sort(), all(["a", "b", "c"]));
  });

  it("counts no failure against a row while the database is not found healthy just before", async () => {
    await store(["a", "b", "c"]);
    database.cuts = (row) => row.kind === "return" && row.minionId === "b";
    let isAnswering = true;
    database.check = async () => {
      isAnswering = !isAnswering;
      if (!isAnswering) throw new SaltworksError("DATABASE_FAILED", "down");
    };
    for (let steps = 0; steps < 100; steps += 1) assert.deepEqual((await shipper.step()).refusals, []);
    database.check = async () => undefined;
    const refusals: string[] = [];
    for (let steps = 0; refusals.length === 0; steps += 1) {
      assert.ok(steps < 100, "the feed stands still");
      refusals.push(...(await shipper.step()).refusals);
    }
    assert.match(refusals[0] ?? "", /minion "b".*: cut$/);
  });

  it("writes characters beyond U+FFFF as escapes if the table does not hold them", async () => {
    await jobs.keepReturns([returnOf(jid, "a", "salt \u{1f9c2}")]);
    await store([]);
    const taken: string[] = [];
    database.refuses = (row) => {
      if (row.kind !== "return") return false;
      taken.push(row.value);
      return row.value.includes("\u{1f9c2}");
    };
    const step = await shipper.step();
    assert.equal(step.refused, 0);
    assert.equal(taken.at(-1), '"salt \\ud83e\\uddc2"');
    assert.equal(JSON.parse(taken.at(-1) ?? ""), "salt \u{1f9c2}");
  });
});
