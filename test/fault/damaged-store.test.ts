/**
 * Damage is found and reported: flipped bits anywhere in a store, cut files, logs with damaged batches. 60 flipped bits;
 * SALTWORKS_FAULT_ROUNDS=50 tries 3,000 (`npm run test:soak`). The seed is printed and taken from SALTWORKS_FAULT_SEED.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { before, describe, it } from "node:test";
import { crc32 } from "node:zlib";
import { returnLogBytes } from "../../src/limits.ts";
import type { Check } from "../../src/store/check/tally.ts";
import { Tally } from "../../src/store/check/tally.ts";
import { checkJobLogs, checkJobs } from "../../src/store/drivers/lmdb/checks.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { absorbJobLogs } from "../../src/store/drivers/lmdb/reshard.ts";
import type { JobCache } from "../../src/store/jobs/job-cache.ts";
import { walkFile } from "../../src/store/lmdb/walk.ts";
import { listLogs } from "../../src/store/return-log/files.ts";
import { rescueLog } from "../../src/store/return-log/rescue.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { returnsIn } from "../contract/returns-in.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const flips = 60 * Number(process.env.SALTWORKS_FAULT_ROUNDS ?? 1);
const seed = Number(process.env.SALTWORKS_FAULT_SEED ?? Date.now() % 1_000_000);
const jobs = 20;
const minions = 40;

/** Numbers from 0 to below `limit`, the same for the same seed. */
function randomFrom(start: number): (limit: number) => number {
  let state = start;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function jidOf(job: number): string {
  return `2026010203040500${String(job).padStart(4, "0")}`;
}

async function fill(path: string): Promise<void> {
  const cache = openLmdbJobCache({ path, shards: 1, durability: "async", storesEndTime: true });
  for (let job = 0; job < jobs; job += 1) {
    const ids = Array.from({ length: minions }, (_, index) => `m${index}`);
    await cache.keepJobs([loadOf(jidOf(job), ids)]);
    await cache.keepReturns(ids.map((id, index) => returnOf(jidOf(job), id, "v".repeat(index === 7 ? 9_000 : 200))));
  }
  await cache.close();
}

function faultsOf(check: Check, path: string): Tally {
  const tally = new Tally(1_000);
  check(tally, { path, isRunning: false, onProgress: () => undefined });
  return tally;
}

async function answers(cache: JobCache): Promise<string> {
  const found: unknown[] = [];
  for (let job = 0; job < jobs; job += 1) {
    const returns = await returnsIn(cache, jidOf(job));
    found.push([returns.map(({ minionId, body }) => [minionId, Buffer.from(body).toString("latin1")])]);
  }
  return JSON.stringify(found);
}

describe("a bit that flipped in a page that is in use", () => {
  const temporary = temporaryDirectories();
  let path = "";
  let whole = Buffer.alloc(0);
  let end = 0;

  before(async () => {
    path = join(temporary(), "jobs");
    await fill(path);
    whole = readFileSync(join(path, "0.mdb"));
    end = walkFile(join(path, "0.mdb")).pages * 4_096;
  });

  it("is named by the check, or lies where nothing is stored", (context) => {
    context.diagnostic(`SALTWORKS_FAULT_SEED=${seed}`);
    assert.equal(faultsOf(checkJobs, path).faultCount, 0);
    const random = randomFrom(seed);
    const stored = recordsOf(path);
    let found = 0;
    for (let flip = 0; flip < flips; flip += 1) {
      const bytes = Buffer.from(whole);
      const at = 8_192 + random(Math.min(end, bytes.length - 8_192));
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      writeFileSync(join(path, "0.mdb"), bytes);
      const { faultCount } = faultsOf(checkJobs, path);
      found += faultCount > 0 ? 1 : 0;
      // All that the check calls undamaged is unchanged: each return and load, each end, and the index.
      if (faultCount === 0) assert.deepEqual(recordsOf(path), stored, `byte ${at}`);
    }
    context.diagnostic(`${found} of ${flips} flipped bits were named; the others changed no record`);
    writeFileSync(join(path, "0.mdb"), whole);
    assert.ok(found > 0);
  });

  it("in a return leaves that return out, in words, and keeps the others", async () => {
    const bytes = Buffer.from(whole);
    const place = bytes.lastIndexOf(Buffer.from("v".repeat(200)));
    bytes[place + 100] = (bytes[place + 100] ?? 0) ^ 0x01;
    const copy = join(temporary(), "jobs");
    mkdirSync(copy);
    copyFileSync(join(path, "layout.json"), join(copy, "layout.json"));
    writeFileSync(join(copy, "0.mdb"), bytes);
    const told: string[] = [];
    const onFault = (error: Error) => void told.push(error.message);
    const cache = openLmdbJobCache({ path: copy, shards: 1, durability: "fsync", isReadOnly: true, onFault });
    let count = 0;
    for (let job = 0; job < jobs; job += 1) count += (await returnsIn(cache, jidOf(job))).length;
    assert.ok(count >= jobs * minions - 1);
    if (count < jobs * minions)
      assert.match(told[0] ?? "", /^the return of m\d+ for job \d{20} in .* is not what was stored, and left out/);
    assert.equal(told.length, jobs * minions - count);
    await cache.close();
  });

  it("cut off is found before LMDB maps what is not there", () => {
    for (const bytes of [end, 20_000, 4_096 * 3, 8_192, 5_000, 100]) {
      const copy = join(temporary(), "jobs");
      mkdirSync(copy);
      copyFileSync(join(path, "layout.json"), join(copy, "layout.json"));
      writeFileSync(join(copy, "0.mdb"), whole.subarray(0, Math.min(bytes, end - 4_096)));
      const open = () => openLmdbJobCache({ path: copy, shards: 1, durability: "fsync" });
      assert.throws(open, { code: "STORE_DAMAGED", message: /0\.mdb is (?:cut|not an LMDB file)/ }, `${bytes} bytes`);
      assert.ok(faultsOf(checkJobs, copy).faultCount > 0);
    }
  });

  it("does not keep a file away that only lacks free pages at its end, as earlier releases left it", async () => {
    const copy = join(temporary(), "jobs");
    await fill(copy);
    const file = join(copy, "0.mdb");
    const cache = openLmdbJobCache({ path: copy, shards: 1, durability: "fsync", isReadOnly: true });
    const expected = await answers(cache);
    await cache.close();
    truncateSync(file, lastPageInUse(file));
    const again = openLmdbJobCache({ path: copy, shards: 1, durability: "fsync" });
    assert.equal(await answers(again), expected);
    await again.close();
  });
});

/** Bytes of the smallest file that lacks no page in use. */
function lastPageInUse(file: string): number {
  const whole = readFileSync(file);
  for (let size = 8_192; ; size += 4_096) {
    writeFileSync(file, whole.subarray(0, size));
    if (walkFile(file).faultCount === 0) return size;
  }
}

function recordsOf(path: string): Map<string, string> {
  const records = new Map<string, string>();
  walkFile(join(path, "0.mdb"), {
    onRecord: (table, key, value) => {
      records.set(`${table}${key.toString("latin1")}`, value.toString("latin1"));
    },
  });
  return records;
}

describe("a damaged log of returns", () => {
  const temporary = temporaryDirectories();
  let image = Buffer.alloc(0);
  const batches = 12;

  /** The log of a writer that ended, with twelve batches of three. */
  before(async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    for (let batch = 0; batch < batches; batch += 1) {
      const ids = [0, 1, 2].map((index) => `b${batch}-${index}`);
      await cache.keepReturns(ids.map((id) => returnOf(jidOf(0), id, "w".repeat(300))));
    }
    image = readFileSync(listLogs(path)[0] ?? "");
    await cache.close();
  });

  const idsIn = (bytes: Buffer) => rescueLog(bytes).entries.map(({ key }) => key.toString("utf8").split("\0")[1]);

  it("gives all but the return whose bit flipped, wherever that is", () => {
    assert.equal(idsIn(image).length, batches * 3);
    assert.equal(rescueLog(image).fault, undefined);
    for (let at = 4_096 * 4; at < 4_096 * 4 + 1_100; at += 13) {
      const bytes = Buffer.from(image);
      bytes[at] = (bytes[at] ?? 0) ^ 0x04;
      const { entries, fault } = rescueLog(bytes);
      assert.ok(fault === undefined ? entries.length === batches * 3 : entries.length < batches * 3, `byte ${at}`);
      assert.ok(entries.length >= (batches - 1) * 3, `byte ${at}: only its batch is touched`);
      if (fault !== undefined)
        assert.match(fault, /^is damaged: (?:\d of 3 returns of its batch 5|1 whole batches) are lost$/);
    }
  });

  it("is told to be cut when it is shorter than it was made", () => {
    const { entries, fault } = rescueLog(image.subarray(0, 4_096 * 6));
    assert.equal(entries.length, 18);
    assert.equal(fault, `is cut: it has 24576 of ${returnLogBytes} bytes, and the rest is lost`);
  });

  it("is damaged if it is empty, or zeros stand at its start, and not if it says that nothing waits", async () => {
    assert.deepEqual(rescueLog(Buffer.alloc(0)), {
      entries: [],
      fault: `is cut: it has 0 of ${returnLogBytes} bytes, and the rest is lost`,
    });
    const headless = Buffer.from(image).fill(0, 0, 4_096);
    assert.deepEqual(rescueLog(headless).fault, "is damaged: 1 whole batches are lost");
    assert.equal(idsIn(headless).length, (batches - 1) * 3);
    assert.match(rescueLog(Buffer.alloc(returnLogBytes)).fault ?? "", /^is damaged at its start/);
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await cache.keepReturns([returnOf(jidOf(0), "m1", "w")]);
    const [log = ""] = listLogs(path);
    assert.match(
      basename(log),
      /^returns-\d+-\d+-\d+-[0-9a-f]{16}\.log$/,
      "earlier releases look for digits, however many",
    );
    // Trimming brings all returns into the store, and marks the log as empty.
    await cache.trim({ olderThanJid: "20000101000000000000", stepsMax: 1 });
    const erased = readFileSync(log);
    assert.deepEqual(rescueLog(erased), { entries: [], fault: undefined });
    assert.match(rescueLog(Buffer.from(erased).fill(0, 0, 4_096)).fault ?? "", /^is damaged at its start/);
    await cache.close();
  });

  it("has its name when it is whole: what was being made is removed, and a short one is set aside", async () => {
    const path = join(temporary(), "jobs");
    await openLmdbJobCache({ path, shards: 1, durability: "fsync" }).close();
    const [unfinished, short, former] = [`1-${"a".repeat(16)}.log.new`, `2-${"b".repeat(16)}.log`, "3-cc.log"].map(
      (end) => join(path, `returns-999999999-999999999-${end}`),
    );
    for (const [file = "", bytes] of [
      [unfinished, Buffer.alloc(4_096)],
      [short, Buffer.alloc(0)],
      // A log of an earlier release after all was stored.
      [former, Buffer.from(image).fill(0, 0, 4_096)],
    ] as const)
      writeFileSync(file, bytes);
    assert.equal(faultsOf(checkJobLogs, path).faultCount, 1);
    const faults = await absorbJobLogs(path, {});
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", /2-b{16}\.log is cut: it has 0 of/);
    const left = readdirSync(path).filter((name) => name.includes("returns-"));
    assert.deepEqual(left, [`damaged-${basename(short ?? "")}`]);
  });

  it("is set aside at the next start, when what is whole in it was stored", async () => {
    const path = join(temporary(), "jobs");
    const made = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await made.close();
    const bytes = Buffer.from(image);
    bytes[4_096 * 4 + 200] = (bytes[4_096 * 4 + 200] ?? 0) ^ 0x04;
    // The log of a writer that ended: no thread has this number.
    const log = join(path, "returns-999999999-999999999-1-abcdef.log");
    writeFileSync(log, bytes);
    assert.equal(faultsOf(checkJobLogs, path).faultCount, 1);
    const faults = await absorbJobLogs(path, {});
    assert.equal(faults.length, 1);
    assert.match(
      faults[0] ?? "",
      /^.*returns-999999999.* is damaged: 1 of 3 returns of its batch 5 are lost\. All that is whole/,
    );
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.equal((await returnsIn(cache, jidOf(0))).length, batches * 3 - 1);
    assert.deepEqual(readFileSync(join(path, `damaged-${basename(log)}`)), bytes);
    assert.deepEqual(listLogs(path), []);
    await cache.close();
    renameSync(join(path, `damaged-${basename(log)}`), join(path, "gone"));
  });
});

describe("a log of the release before", () => {
  const temporary = temporaryDirectories();

  /** One batch in the form without hashes: a CRC-32 over the whole frame, and the plain bodies. */
  function formerFrame(
    records: readonly { readonly jid: string; readonly minionId: string; readonly body: Uint8Array }[],
  ) {
    const entries = records.map(({ jid, minionId, body }) => {
      const key = Buffer.from(`t${jid}\0${minionId}`);
      const head = Buffer.alloc(6);
      head.writeUInt16BE(key.length, 0);
      head.writeUInt32BE(body.byteLength, 2);
      return Buffer.concat([head, key, body]);
    });
    const frame = Buffer.concat([Buffer.alloc(32), ...entries]);
    frame.write("SWR1", 0, "latin1");
    frame.writeUInt32BE(frame.length, 8);
    frame.writeUInt32BE(records.length, 12);
    frame.writeUIntBE(1, 16, 6);
    frame.writeUInt32BE(crc32(frame.subarray(8)), 4);
    return frame;
  }

  it("is brought in at the first start, and its job cache stays readable", async () => {
    const path = join(temporary(), "jobs");
    await openLmdbJobCache({ path, shards: 1, durability: "fsync" }).close();
    const image = Buffer.alloc(returnLogBytes);
    formerFrame([returnOf(jidOf(0), "a", "old"), returnOf(jidOf(0), "b", "old")]).copy(image);
    writeFileSync(join(path, "returns-999999999-999999999-1-abcdef.log"), image);
    writeFileSync(join(path, "layout.json"), '{"version":2,"shards":1}\n');
    const queued: string[] = [];
    const queue = { addReturns: (keys: readonly Buffer[]) => void queued.push(...keys.map(String)) };
    assert.deepEqual(await absorbJobLogs(path, { queue, storesEndTime: true }), []);
    assert.deepEqual(queued, [`t${jidOf(0)}\0a`, `t${jidOf(0)}\0b`], "Salt's own files get them, too");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.deepEqual(
      await returnsIn(cache, jidOf(0)),
      [returnOf(jidOf(0), "a", "old"), returnOf(jidOf(0), "b", "old")].map(({ minionId, body }) => ({
        minionId,
        body,
      })),
    );
    await cache.close();
    assert.match(readFileSync(join(path, "layout.json"), "utf8"), /"version":3/, "releases before refuse it by name");
    assert.deepEqual(listLogs(path), []);
  });
});
