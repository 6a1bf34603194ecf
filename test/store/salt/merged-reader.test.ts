/** Jobs from our cache and from Salt's files: returns that a Salt master got for our jobs are found, at the cost of one directory read. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import type { JobCache, JobCacheReader } from "../../../src/store/jobs/job-cache.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { withLocalCache } from "../../../src/store/salt/merged-reader.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const jid = "20260102030405000001";

const returned = (body: Uint8Array | undefined) => body && (decode(body) as Map<string, unknown>).get("return");

describe("returns that a Salt master got for a job of ours", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let jobs: JobCache;
  let reader: JobCacheReader;
  let faults: string[];
  beforeEach(async () => {
    cachedir = temporary();
    faults = [];
    const place = join(cachedir, "jobs.lmdb");
    jobs = openLmdbJobCache({ path: place, shards: 1, durability: "commit" });
    reader = withLocalCache(jobs, { ...{ cachedir, hashType, place }, onFault: ({ message }) => faults.push(message) });
    await jobs.keepJobs([loadOf(jid, ["a", "b", "c"])]);
    await salt().keepJobs([loadOf(jid, ["a", "b", "c"])]);
    await jobs.keepReturns([returnOf(jid, "a", "ours")]);
  });
  afterEach(() => jobs.close());

  const salt = () => openLocalCache({ cachedir, hashType });
  const directory = () => jobDirectory(cachedir, hashType, jid);
  const found = async () => (await returnsIn(reader, jid)).map(({ minionId, body }) => [minionId, returned(body)]);
  /** Ends this turn of the event loop, in which questions share an answer. */
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it("are found beside ours, which count where both have one", async () => {
    assert.deepEqual(await found(), [["a", "ours"]]);
    await nextTurn();
    await salt().keepReturns([returnOf(jid, "a", "salt's"), returnOf(jid, "b", "salt's")]);
    assert.deepEqual(await found(), [
      ["a", "ours"],
      ["b", "salt's"],
    ]);
    assert.deepEqual((await Promise.all(["a", "b", "c"].map((id) => reader.returnOf(jid, id)))).map(returned), [
      "ours",
      "salt's",
      undefined,
    ]);
    assert.deepEqual(faults, []);
  });

  it("are not looked for in a directory that has not changed", async () => {
    const setTime = () => utimesSync(directory(), 1_000_000, 1_000_000);
    setTime();
    assert.deepEqual(await found(), [["a", "ours"]]);
    await nextTurn();
    await salt().keepReturns([returnOf(jid, "b", "salt's")]);
    setTime();
    assert.deepEqual(await found(), [["a", "ours"]], "the time says that nothing came");
    await nextTurn();
    utimesSync(directory(), 2_000_000, 2_000_000);
    assert.equal((await found()).length, 2);
  });

  it("hide none of ours if their files cannot be read", async () => {
    mkdirSync(join(directory(), "b"));
    // A link to itself, which root cannot read either.
    symlinkSync("return.p", join(directory(), "b", "return.p"));
    assert.deepEqual(await found(), [["a", "ours"]]);
    assert.deepEqual(await found(), [["a", "ours"]]);
    assert.equal(faults.length, 1, "told once");
    assert.match(faults.join(), /return\.p cannot be read/);
  });

  it("hide no other of Salt's if one file cannot be read", async () => {
    mkdirSync(join(directory(), "b"));
    symlinkSync("return.p", join(directory(), "b", "return.p"));
    await salt().keepReturns([returnOf(jid, "c", "salt's")]);
    assert.deepEqual(await found(), [
      ["a", "ours"],
      ["c", "salt's"],
    ]);
    assert.equal(faults.length, 1);
  });
});

/** The same answers, each a turn later, like those of a database over a network. */
function waiting(jobs: JobCacheReader): JobCacheReader {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    job: async (asked) => await turn().then(() => jobs.job(asked)),
    request: async (asked) => await turn().then(() => jobs.request(asked)),
    returns: async (asked, page) => await turn().then(() => jobs.returns(asked, page)),
    returnOf: async (asked, id) => await turn().then(() => jobs.returnOf(asked, id)),
    endTime: async (asked) => await turn().then(() => jobs.endTime(asked)),
    list: async (options) => await turn().then(() => jobs.list(options)),
    find: async (query) => await turn().then(() => jobs.find(query)),
  };
}

describe("a job cache that has to wait for its answers", () => {
  const temporary = temporaryDirectories();

  it("answers questions that are asked together as it does one by one", async () => {
    const cachedir = temporary();
    const jobs = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 2, durability: "commit" });
    const salt = openLocalCache({ cachedir, hashType });
    const taken = "20260102030405000002";
    await jobs.keepJobs([loadOf(jid, ["a", "b"]), loadOf(taken, ["a", "b"], { isTakenOver: true })]);
    for (const asked of [jid, taken]) {
      await salt.keepJobs([loadOf(asked, ["a", "b"])]);
      await jobs.keepReturns([returnOf(asked, "a", "ours")]);
      await salt.keepReturns(["a", "b"].map((id) => returnOf(asked, id, "salt's")));
    }
    const reader = withLocalCache(waiting(jobs), { cachedir, hashType, place: join(cachedir, "jobs.lmdb") });
    const valuesOf = async (asked: string) => [
      ...(await returnsIn(reader, asked)).map(({ body }) => returned(body)),
      returned(await reader.returnOf(asked, "a")),
    ];
    const [ours, theirs] = [
      ["ours", "salt's", "ours"],
      ["salt's", "salt's", "salt's"],
    ];
    const asked = [jid, taken, jid, taken, taken, jid];
    const expected = asked.map((one) => (one === jid ? ours : theirs));
    assert.deepEqual(await Promise.all(asked.map(valuesOf)), expected);
    assert.deepEqual((await reader.job(taken))?.minions, ["a", "b"]);
    assert.deepEqual(await reader.find({ limit: 10 }), [taken, jid]);
    await jobs.close();
  });
});

describe("pages of a job whose returns stand in our cache and in Salt's files", () => {
  const temporary = temporaryDirectories();
  const idOf = (index: number) => `m${String(index).padStart(2, "0")}`;
  const ids = (isWanted: (index: number) => boolean) =>
    Array.from({ length: 30 }, (_, index) => index)
      .filter((index) => isWanted(index))
      .map(idOf);
  /** Every third minion has a return in both; some are after the last minion of the other. */
  const inCache = ids((index) => index % 3 !== 1 && index < 24);
  const inFiles = ids((index) => index % 3 !== 0 && index > 3);
  const everywhere = [...new Set([...inCache, ...inFiles])].sort();

  for (const isTakenOver of [false, true]) {
    it(`hold each return once, in order and within their bounds, ${isTakenOver ? "of a job of Salt's" : "of ours"}`, async () => {
      const cachedir = temporary();
      const jobs = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 3, durability: "commit" });
      const salt = openLocalCache({ cachedir, hashType });
      await jobs.keepJobs([loadOf(jid, ["a"], { isTakenOver })]);
      await salt.keepJobs([loadOf(jid)]);
      await jobs.keepReturns(inCache.map((id) => returnOf(jid, id, `ours ${"x".repeat(1_000)}`)));
      await salt.keepReturns(inFiles.map((id) => returnOf(jid, id, `salt's ${"x".repeat(1_000)}`)));
      const reader = withLocalCache(jobs, { cachedir, hashType, place: join(cachedir, "jobs.lmdb") });
      const first = new Set(isTakenOver ? inFiles : inCache);
      for (const [limit, bytesMax, ofAPage] of [
        [1, 1_000_000, 1],
        [7, 1_000_000, 7],
        [100, 1, 1],
        [100, 4_000, 4],
        [4, 4_000, 4],
        [100, 1_000_000, 100],
      ] as const) {
        const found: [string, string][] = [];
        let pages = 0;
        for (let after: string | undefined; ; pages += 1) {
          const { returns, hasMore } = await reader.returns(jid, { after, limit, bytesMax });
          assert.ok(returns.length <= ofAPage, `${returns.length} returns on a page of ${limit} and ${bytesMax} bytes`);
          assert.ok(returns.length > 0);
          found.push(
            ...returns.map(({ minionId, body }): [string, string] => [minionId, String(returned(body)).slice(0, 4)]),
          );
          if (!hasMore) break;
          after = returns.at(-1)?.minionId;
        }
        const whose = (id: string) => (first.has(id) === isTakenOver ? "salt" : "ours");
        assert.deepEqual(
          found,
          everywhere.map((id) => [id, whose(id)]),
        );
        assert.ok(pages <= 2 * Math.ceil(everywhere.length / ofAPage));
      }
      const of = ["m05", "m00", "m29", "nobody"];
      const named = await reader.returns(jid, { limit: 100, bytesMax: 1_000_000, of });
      assert.deepEqual(
        named.returns.map(({ minionId }) => minionId),
        ["m00", "m05", "m29"],
      );
      await jobs.close();
    });
  }
});

describe("a job that a Salt master made", () => {
  const temporary = temporaryDirectories();

  it("shows all returns that can be read, and tells of each that cannot: once to the log, each time to the caller", async () => {
    const cachedir = temporary();
    const salt = openLocalCache({ cachedir, hashType });
    await salt.keepJobs([loadOf(jid, ["a", "b", "c", "d"])]);
    await salt.keepReturns(["a", "b", "c", "d"].map((id) => returnOf(jid, id)));
    const place = (id: string) => join(jobDirectory(cachedir, hashType, jid), id, "return.p");
    rmSync(place("b"));
    symlinkSync("return.p", place("b"));
    writeFileSync(place("c"), Buffer.from([0x81]));
    const [faults, leftOut]: [string[], string[]] = [[], []];
    const jobs = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 1, durability: "commit" });
    const reader = withLocalCache(jobs, {
      ...{ cachedir, hashType, place: cachedir },
      onFault: ({ message }) => faults.push(message),
      onLeftOut: (text) => leftOut.push(text),
    });
    const ids = async () => (await returnsIn(reader, jid)).map(({ minionId }) => minionId);
    assert.deepEqual(await ids(), ["a", "d"]);
    assert.deepEqual(await ids(), ["a", "d"]);
    assert.equal(await reader.returnOf(jid, "b"), undefined);
    assert.ok(await reader.returnOf(jid, "d"));
    assert.deepEqual(faults.length, 2, faults.join());
    assert.ok(faults[0]?.startsWith(`${place("b")} cannot be read: ELOOP`), faults[0]);
    assert.ok(faults[1]?.startsWith(`${place("c")} is not what was stored: `), faults[1]);
    assert.equal(leftOut.length, 5, leftOut.join("\n"));
    await jobs.close();
  });
});

describe("a job whose record in our cache is damaged", () => {
  const temporary = temporaryDirectories();

  it("shows its returns, and its record where Salt's files have it", async () => {
    const cachedir = temporary();
    const store = { path: join(cachedir, "jobs.lmdb"), shards: 1, durability: "fsync" } as const;
    const writer = openLmdbJobCache(store);
    await writer.keepJobs([loadOf(jid, ["a", "FLIPPED"])]);
    await writer.keepReturns([returnOf(jid, "a", "whole")]);
    await writer.close();
    const file = join(store.path, "0.mdb");
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf("FLIPPED"); at !== -1; at = bytes.indexOf("FLIPPED", at)) bytes[at] = 0x47;
    writeFileSync(file, bytes);

    const [faults, leftOut]: [string[], string[]] = [[], []];
    const jobs = openLmdbJobCache({ ...store, isReadOnly: true });
    const onFault = ({ message }: Error) => faults.push(message);
    const reader = withLocalCache(jobs, {
      cachedir,
      hashType,
      place: store.path,
      onFault,
      onLeftOut: (text) => leftOut.push(text),
    });
    await assert.rejects(jobs.job(jid), { code: "STORE_DAMAGED" });
    assert.deepEqual(
      (await returnsIn(reader, jid)).map(({ minionId }) => minionId),
      ["a"],
    );
    assert.ok(await reader.returnOf(jid, "a"));
    await assert.rejects(reader.job(jid), { code: "STORE_DAMAGED" });
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(jid, ["a", "b"])]);
    assert.deepEqual((await reader.job(jid))?.minions, ["a", "b"]);
    assert.equal(leftOut.length, 2, "each time");
    assert.equal(faults.length, 1, "once");
    assert.match(faults.join(), /the record of job 20260102030405000001 in .*jobs\.lmdb is not what was stored/);
    await jobs.close();
  });
});
