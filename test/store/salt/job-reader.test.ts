/** Jobs read from our cache and from Salt's files: returns that a Salt master got for a job of ours, at the cost of a look at its directory. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { allReturns, type JobSearch, type JobStore } from "../../../src/store/jobs/job-cache.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { withOldJobs } from "../../../src/store/salt/job-reader.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../contract/job-cache.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const jid = "20260102030405000001";

describe("returns that a Salt master got for a job of ours", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let jobs: JobStore;
  let reader: JobSearch;
  let faults: string[];
  beforeEach(async () => {
    cachedir = temporary();
    faults = [];
    jobs = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 1, durability: "commit" });
    reader = withOldJobs(jobs, { cachedir, hashType, onFault: ({ message }) => faults.push(message) });
    await jobs.keepJobs([loadOf(jid, ["a", "b", "c"])]);
    await salt().keepJobs([loadOf(jid, ["a", "b", "c"])]);
    await jobs.keepReturns([returnOf(jid, "a", "ours")]);
  });
  afterEach(() => jobs.close());

  const salt = () => openLocalCache({ cachedir, hashType });
  const directory = () => jobDirectory(cachedir, hashType, jid);
  const returned = (body: Uint8Array | undefined) => body && (decode(body) as Map<string, unknown>).get("return");
  const found = () => [...allReturns(reader, jid)].map(({ minionId, body }) => [minionId, returned(body)]);
  /** Until then questions of one turn have one answer. */
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it("are found beside ours, which count where both have one", async () => {
    assert.deepEqual(found(), [["a", "ours"]]);
    await nextTurn();
    await salt().keepReturns([returnOf(jid, "a", "salt's"), returnOf(jid, "b", "salt's")]);
    assert.deepEqual(found(), [
      ["a", "ours"],
      ["b", "salt's"],
    ]);
    assert.deepEqual(
      ["a", "b", "c"].map((id) => returned(reader.returnOf(jid, id))),
      ["ours", "salt's", undefined],
    );
    assert.deepEqual(faults, []);
  });

  it("are not looked for in a directory that has not changed", async () => {
    const setTime = () => utimesSync(directory(), 1_000_000, 1_000_000);
    setTime();
    assert.deepEqual(found(), [["a", "ours"]]);
    await nextTurn();
    await salt().keepReturns([returnOf(jid, "b", "salt's")]);
    setTime();
    assert.deepEqual(found(), [["a", "ours"]], "the time says that nothing came");
    await nextTurn();
    utimesSync(directory(), 2_000_000, 2_000_000);
    assert.equal(found().length, 2);
  });

  it("hide none of ours if their files cannot be read", async () => {
    mkdirSync(join(directory(), "b"));
    // Root may read all files, but not this one.
    symlinkSync("return.p", join(directory(), "b", "return.p"));
    assert.deepEqual(found(), [["a", "ours"]]);
    assert.deepEqual(found(), [["a", "ours"]]);
    assert.equal(faults.length, 1, "told once");
    assert.match(faults.join(), /return\.p cannot be read/);
  });

  it("hide no other of Salt's if one file cannot be read", async () => {
    mkdirSync(join(directory(), "b"));
    symlinkSync("return.p", join(directory(), "b", "return.p"));
    await salt().keepReturns([returnOf(jid, "c", "salt's")]);
    assert.deepEqual(found(), [
      ["a", "ours"],
      ["c", "salt's"],
    ]);
    assert.equal(faults.length, 1);
  });
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
    const reader = withOldJobs(jobs, {
      ...{ cachedir, hashType },
      onFault: ({ message }) => faults.push(message),
      onLeftOut: (text) => leftOut.push(text),
    });
    const ids = () => [...allReturns(reader, jid)].map(({ minionId }) => minionId);
    assert.deepEqual(ids(), ["a", "d"]);
    assert.deepEqual(ids(), ["a", "d"]);
    assert.equal(reader.returnOf(jid, "b"), undefined);
    assert.ok(reader.returnOf(jid, "d"));
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
    const reader = withOldJobs(jobs, { cachedir, hashType, onFault, onLeftOut: (text) => leftOut.push(text) });
    assert.throws(() => jobs.job(jid), { code: "STORE_DAMAGED" });
    assert.deepEqual(
      [...allReturns(reader, jid)].map(({ minionId }) => minionId),
      ["a"],
    );
    assert.ok(reader.returnOf(jid, "a"));
    assert.throws(() => reader.job(jid), { code: "STORE_DAMAGED" });
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(jid, ["a", "b"])]);
    assert.deepEqual(reader.job(jid)?.minions, ["a", "b"]);
    assert.equal(leftOut.length, 2, "each time");
    assert.equal(faults.length, 1, "once");
    assert.match(faults.join(), /the record of job 20260102030405000001 in .*jobs\.lmdb is not what was stored/);
    await jobs.close();
  });
});
