/** The check of a job cache reports where index, ends and marks differ from the stored jobs. Caches of earlier releases without hashes are valid. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { MinionNumbers } from "../../../../src/master/jobs/minion-numbers.ts";
import { PendingJob } from "../../../../src/master/jobs/pending-job.ts";
import { checkPendingJobs } from "../../../../src/store/check/lmdb-checks.ts";
import { type Check, Tally } from "../../../../src/store/check/tally.ts";
import { checkJobs } from "../../../../src/store/drivers/lmdb/checks.ts";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { postingKey, termKey, termKinds } from "../../../../src/store/drivers/lmdb/job-index.ts";
import { loadKey, openShards, type Shard } from "../../../../src/store/drivers/lmdb/records.ts";
import { reshardJobCache } from "../../../../src/store/drivers/lmdb/reshard.ts";
import { openPendingJobs } from "../../../../src/store/jobs/pending-jobs.ts";
import { closeEnvironment, openDatabase, openEnvironment } from "../../../../src/store/lmdb/env.ts";
import { encode } from "../../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { temporaryDirectories } from "../../temporary.ts";

const jids = ["20260102030405000001", "20260102030405000002", "a-name"] as const;
const [jid] = jids;

function faultsOf(check: Check, path: string): string {
  const tally = new Tally(100);
  check(tally, { path, isRunning: false, onProgress: () => undefined });
  return tally.faults.join("\n");
}

describe("the index of a job cache", () => {
  const temporary = temporaryDirectories();
  let path = "";

  beforeEach(async () => {
    path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", storesEndTime: true });
    for (const each of jids) await cache.keepJobs([loadOf(each, ["m1"], { isNoCache: each === "a-name" })]);
    const { body, ...rest } = returnOf(jid, "m1");
    const stamp = encode({ _stamp: "2026-01-02T03:04:07.123456", return: true }, "bin");
    await cache.keepReturns([{ ...rest, body: stamp }]);
    await cache.close();
  });

  async function change(step: (shard: Shard) => void): Promise<void> {
    const [shard] = openShards(path, 1, true);
    assert.ok(shard);
    shard.environment.transactionSync(() => step(shard));
    await closeEnvironment(shard.environment);
  }

  const key = loadKey(jid);
  const pingId = ({ index }: Shard) => index.termIds.getBinary(termKey(termKinds.function, "test.ping")) as Buffer;

  const damages: readonly (readonly [string, (shard: Shard) => void, RegExp])[] = [
    [
      "a job's key in the index",
      ({ index }) => {
        const ids = index.jobTerms.getBinary(key) as Buffer;
        index.jobTerms.removeSync(key);
        index.jobTerms.putSync(Buffer.from("t20260102030405000009"), Buffer.from(ids));
      },
      /the index and the store have different jobs: 3 and 3/,
    ],
    [
      "a job that is missing in the index",
      ({ index }) => void index.jobTerms.removeSync(key),
      /have different jobs: 2 and 3/,
    ],
    [
      "a job's terms",
      ({ index }) => void index.jobTerms.putSync(key, Buffer.from([0, 0, 0, 99])),
      /function "test.ping" has different jobs in the index and in the store[\s\S]*number 99 in the index has no term/,
    ],
    [
      "the length of a job's terms",
      ({ index }) => void index.jobTerms.putSync(key, Buffer.from([0, 0, 1])),
      /number -1 in the index has no term/,
    ],
    [
      "a posting",
      (shard) => void shard.index.postings.removeSync(postingKey(pingId(shard).readUInt32BE(0), key)),
      /function "test.ping" has different jobs in the index and in the store/,
    ],
    [
      "a term",
      ({ index }) => void index.termIds.removeSync(termKey(termKinds.function, "test.ping")),
      /function "test.ping" is not in the index: 3 jobs are not found by it/,
    ],
    [
      "a term's text",
      (shard) => void shard.index.termTexts.putSync(Buffer.concat([Buffer.from("f"), pingId(shard)]), Buffer.from("x")),
      /function "test.ping" has different numbers in the index/,
    ],
    [
      "when a job ended",
      ({ ends }) => {
        const end = Buffer.from(ends.getBinary(key) as Buffer);
        end[end.length - 1] = (end.at(-1) ?? 0) ^ 1;
        ends.putSync(key, end);
      },
      /the end of job 20260102030405000001 is not what was stored/,
    ],
  ];

  it("is whole as it was made, and when it was built anew", async () => {
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    const load = encode({ fun: ["test.ping", "x\ud800", "x\ufffd"], tgt: "é", user: "root" }, "bin");
    await cache.keepJobs([{ ...loadOf("another"), load }]);
    await cache.close();
    assert.equal(faultsOf(checkJobs, path), "");
    assert.equal(await reshardJobCache(path, 2), 1);
    assert.equal(faultsOf(checkJobs, path), "");
  });

  for (const [what, step, words] of damages) {
    it(`is told to be damaged in ${what}`, async () => {
      await change(step);
      assert.match(faultsOf(checkJobs, path), words);
    });
  }

  it("has ends of earlier releases, which are read, and leaves out damaged ones in words", async () => {
    const wanted = "2026, Jan 02 03:04:07.123456";
    const read = async () => {
      const told: string[] = [];
      const onFault = (error: Error) => void told.push(error.message);
      const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true, onFault });
      const end = await cache.endTime(jid);
      await cache.close();
      return { end, told: told.join() };
    };
    assert.deepEqual(await read(), { end: wanted, told: "" });
    await change(({ ends }) => void ends.putSync(key, Buffer.from("20260102030407123456")));
    assert.deepEqual(await read(), { end: wanted, told: "" });
    assert.equal(faultsOf(checkJobs, path), "");
    await change(damages.at(-1)?.[1] ?? assert.fail());
    await change(({ ends }) => void ends.putSync(key, Buffer.from("S0000200601020304071234560")));
    const { end, told } = await read();
    assert.equal(end, undefined);
    assert.match(told, /the end of job 20260102030405000001 in .* is not what was stored/);
  });
});

describe("marks of a job that waits for minions", () => {
  const temporary = temporaryDirectories();
  /** Three minions: served after three tries, withdrawn, and waiting. */
  const marks = Uint8Array.of(0x13, 0x20, 0x01);
  const record = { jid, fields: new Map(), minions: ["m1", "m2", "m3"], publishedMs: 1, deadlineMs: 2 };

  async function stored(path: string, change: (value: Buffer) => Buffer) {
    const jobs = openPendingJobs(path);
    await jobs.put(record);
    await jobs.putMarks(jid, marks);
    await jobs.close();
    const environment = openEnvironment({ file: join(path, "data.mdb"), isReadOnly: false, isSyncedOnCommit: true });
    const marked = openDatabase(environment, "marks");
    marked.putSync(Buffer.from(jid), change(Buffer.from(marked.getBinary(Buffer.from(jid)) as Buffer)));
    await closeEnvironment(environment);
    const again = openPendingJobs(path);
    const [job] = again.all();
    await again.close();
    assert.ok(job);
    return job;
  }

  it("come back as they were, those without hash as well", async () => {
    for (const change of [(value: Buffer) => value, () => Buffer.from(marks)]) {
      const path = join(temporary(), "pending");
      assert.deepEqual((await stored(path, change)).marks, marks);
      assert.equal(faultsOf(checkPendingJobs, path), "");
    }
  });

  it("that are damaged settle no minion, but one for which the job was withdrawn, and are named", async () => {
    for (const [place, bit] of [
      [7, 0x10],
      [5, 0x10],
      [0, 0x01],
      [0, 0x41],
      [2, 0x80],
    ] as const) {
      const path = join(temporary(), "pending");
      const job = await stored(path, (value) => {
        value[place] = (value[place] ?? 0) ^ bit;
        return value;
      });
      assert.equal(job.areMarksDamaged, true);
      assert.deepEqual(new PendingJob(job, new MinionNumbers()).left(), ["m1", "m3"]);
      assert.match(faultsOf(checkPendingJobs, path), /what became of the pending job \d+, by minion, is not what was/);
    }
  });
});
