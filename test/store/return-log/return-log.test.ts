/** Acknowledged returns are kept: the job cache's log under torn writes, death at each of its system calls, and failing or slow disks. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { returnsPerTransaction, unloggedBatchBytesMin } from "../../../src/limits.ts";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { minionIdIn } from "../../../src/store/drivers/lmdb/records.ts";
import { reshardJobCache } from "../../../src/store/drivers/lmdb/reshard.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import { listLogs, readLog } from "../../../src/store/return-log/files.ts";
import { blockBytes, blocksFor, encodeFrame, frameBytesMax } from "../../../src/store/return-log/frames.ts";
import { returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { hasStrace } from "../../fleet/masters/system-calls.ts";
import { temporaryDirectories } from "../temporary.ts";

const jid = "20260102030405000001";
const writer = fileURLToPath(new URL("./log-writer.js", import.meta.url));
const childTimeoutMs = 30_000;

type Run = {
  readonly acknowledged: number[];
  readonly lines: string[];
  readonly hasEnded: boolean;
  readonly signal: NodeJS.Signals | null;
};

/** Runs log-writer.ts under `strace` with these injections. */
function runWriter(path: string, args: readonly (string | number)[], injections: readonly string[] = []): Run {
  const program = [process.execPath, writer, path, jid, ...args.map(String)];
  const traced = injections.flatMap((injection) => ["-e", `inject=${injection}`]);
  const strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,pwritev,fdatasync", ...traced];
  const [command = "", ...rest] = injections.length === 0 ? program : [...strace, ...program];
  // Injections count each thread's calls, so libuv gets a single thread.
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  const { stdout, signal } = spawnSync(command, rest, { encoding: "utf8", timeout: childTimeoutMs, env });
  const lines = stdout.trim().split("\n");
  const acknowledged = lines.filter((line) => line.startsWith("stored ")).map((line) => Number(line.split(" ")[1]));
  return { acknowledged, lines, hasEnded: lines.at(-1) === "closed", signal };
}

async function storedBatches(cache: JobCache): Promise<Set<number>> {
  return new Set((await returnsIn(cache, jid)).map(({ minionId }) => Number(minionId.slice(1).split("-")[0])));
}

async function readBatches(path: string): Promise<Set<number>> {
  const reader = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
  try {
    return await storedBatches(reader);
  } finally {
    await reader.close();
  }
}

/** Frames of one return each, as in a log, and the offset of each frame's end. */
function image(generations: readonly number[], serialOf: (index: number) => number): { bytes: Buffer; ends: number[] } {
  const ends: number[] = [];
  const bytes = Buffer.alloc(generations.length * 2 * blockBytes);
  let at = 0;
  for (const [index, generation] of generations.entries()) {
    const records = [returnOf(jid, `m${index}`, "x".repeat(3_000 + index))];
    const end = encodeFrame(bytes, at, records, { generation, serial: serialOf(index) }, (job) => `t${job}\0`, []);
    assert.ok(end - at <= frameBytesMax(records));
    ends.push(end);
    at += blocksFor(end - at);
  }
  return { bytes, ends };
}

describe("a log of returns", () => {
  const temporary = temporaryDirectories();
  const read = (bytes: Buffer) => {
    const path = join(temporary(), "log");
    writeFileSync(path, bytes);
    return readLog(path).map(({ key }) => key.toString("utf8").split("\0")[1]);
  };

  it("is read up to the frame that is torn, wherever the tear is", () => {
    const { bytes, ends } = image([1, 1, 1], (index) => index);
    assert.deepEqual(read(bytes), ["m0", "m1", "m2"]);
    const start = blocksFor(ends[1] ?? 0);
    const end = ends[2] ?? 0;
    for (let at = start; at < end; at += at < start + 64 ? 1 : 97) {
      const torn = Buffer.from(bytes);
      torn.fill(0, at, end);
      // A body may itself end in zeros.
      if (!torn.equals(bytes)) assert.deepEqual(read(torn), ["m0", "m1"], `zeros from ${at - start} on`);
      assert.deepEqual(read(bytes.subarray(0, at)), ["m0", "m1"], `cut at ${at - start}`);
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      assert.deepEqual(read(flipped), ["m0", "m1"], `a bit of byte ${at - start}`);
    }
  });

  it("does not take older frames behind its end for its own", () => {
    assert.deepEqual(read(image([2, 1, 1], (index) => index).bytes), ["m0"]);
    assert.deepEqual(read(image([2, 2, 2], (index) => (index === 2 ? 7 : index)).bytes), ["m0", "m1"]);
    assert.deepEqual(read(Buffer.alloc(3 * blockBytes)), []);
  });

  it("goes with its writer, which leaves everything in the store", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await cache.keepReturns([returnOf(jid, "m1-0")]);
    assert.equal(listLogs(path).length, 1);
    assert.deepEqual(await readBatches(path), new Set([1]), "seen before the store has it");
    await cache.close();
    assert.deepEqual(listLogs(path), []);
    assert.deepEqual(await readBatches(path), new Set([1]));
  });

  it("is empty once many have come, without waiting for more", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    const records = Array.from({ length: returnsPerTransaction }, (_, index) => returnOf(jid, `m${index}-0`));
    await cache.keepReturns(records);
    await new Promise((resolve) => setImmediate(resolve));
    await cache.keepReturns([returnOf(jid, "m-last")]);
    assert.equal(readLog(listLogs(path)[0] ?? "").length, 1);
    assert.equal((await returnsIn(cache, jid)).length, returnsPerTransaction + 1);
    assert.deepEqual(await cache.keepReturns(records.slice(0, 1)), ["duplicate"]);
    await cache.close();
  });

  it("is by-passed by a batch that it cannot hold", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await cache.keepReturns([returnOf(jid, "m1-0", "small")]);
    await cache.keepReturns([returnOf(jid, "m2-0", "x".repeat(9_000_000)), returnOf(jid, "m3-0")]);
    assert.ok(readLog(listLogs(path)[0] ?? "").length < 2, "only what was there before");
    assert.deepEqual(await storedBatches(cache), new Set([1, 2, 3]));
    await cache.close();
  });

  it("is by-passed by a batch of large returns, which are in the store once they are acknowledged", async () => {
    const path = join(temporary(), "jobs");
    const stored: string[] = [];
    const onStored = (keys: readonly Buffer[]) => void stored.push(...keys.map((key) => minionIdIn(key)));
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", onStored });
    const half = "x".repeat(unloggedBatchBytesMin / 2);
    await cache.keepReturns([returnOf(jid, "m1-0", half)]);
    assert.deepEqual(stored, []);
    const large = [returnOf(jid, "m2-0", half), returnOf(jid, "m3-0", `y${half}`)];
    assert.deepEqual(await cache.keepReturns(large), ["stored", "stored"]);
    assert.deepEqual(stored, ["m2-0", "m3-0"]);
    // The next batch uses the same memory.
    await cache.keepReturns([returnOf(jid, "m4-0", `z${half}${half}`)]);
    assert.deepEqual(await cache.keepReturns([...large, returnOf(jid, "m1-0")]), [
      "duplicate",
      "duplicate",
      "duplicate",
    ]);
    const found = await returnsIn(cache, jid);
    assert.deepEqual(found.map(({ minionId }) => minionId).sort(), ["m1-0", "m2-0", "m3-0", "m4-0"]);
    for (const { minionId, body } of large)
      assert.ok(Buffer.from(body).equals(found.find((one) => one.minionId === minionId)?.body ?? Buffer.alloc(0)));
    await cache.close();
  });

  it("of a process that was killed is read by others, then taken over and removed by the next writer", async () => {
    const path = join(temporary(), "jobs");
    const args = [path, jid, "3", "2"];
    const child = spawnSync("sh", ["-c", '"$0" "$@" | head -n 2 >/dev/null', process.execPath, writer, ...args]);
    assert.equal(child.status, 0);
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.ok((await storedBatches(cache)).has(1));
    assert.deepEqual(await cache.keepReturns([returnOf(jid, "m1-0"), returnOf(jid, "m99-0")]), ["duplicate", "stored"]);
    assert.equal(listLogs(path).length, 1, "its own");
    await cache.close();
  });
});

/** CI installs strace; elsewhere the test is skipped without it. */
const skip = hasStrace() || process.env.CI === "true" ? false : "strace is not installed";

describe("the job cache's promise", { skip }, () => {
  const temporary = temporaryDirectories();
  /** Three transactions of LMDB among ten batches. */
  const batches = [10, Math.ceil(returnsPerTransaction / 3)];

  /** Batches that go into LMDB at once. */
  const large = [3, 1, 1, unloggedBatchBytesMin];

  for (const [what, puts] of [
    ["", batches],
    [" while it puts large returns", large],
  ] as const)
    it(`is kept by a process that dies at any of its writes and syncs${what}`, async (context) => {
      let isDone = false;
      let kills = 0;
      // Tries death at every call.
      for (let call = 1; !isDone && call < 300; call += 1) {
        const path = join(temporary(), "jobs");
        const run = runWriter(path, puts, [`pwrite64,pwritev,fdatasync:signal=SIGKILL:when=${call}`]);
        isDone = run.hasEnded;
        kills += isDone ? 0 : 1;
        if (!readdirSync(join(path, "..")).includes("jobs")) continue;
        const seen = await readBatches(path);
        for (const batch of run.acknowledged) assert.ok(seen.has(batch), `call ${call}: batch ${batch} for readers`);
        await reshardJobCache(path, 2);
        assert.deepEqual(listLogs(path), []);
        const again = openLmdbJobCache({ path, shards: 2, durability: "fsync" });
        assert.deepEqual(await storedBatches(again), seen, `call ${call}: after another start`);
        await again.close();
      }
      context.diagnostic(`${kills} points of death`);
      assert.ok(kills >= 10);
    });

  it("refuses a large return while the disk is full, and takes it afterwards", async () => {
    const path = join(temporary(), "jobs");
    const { acknowledged, lines, hasEnded, signal } = runWriter(
      path,
      [4, 1, 1, 1_500_000],
      ["pwrite64:error=ENOSPC:when=10..11"],
    );
    assert.ok(acknowledged.length > 0, lines.join(", "));
    // In one of some sixty runs LMDB's own code aborts, and more seldom reads where it may not, when it cannot write a page. What it acknowledged must be
    // there all the same.
    const isRefused = hasEnded && lines.some((line) => line.startsWith("STORE_FAILED"));
    assert.ok(isRefused || signal === "SIGABRT" || signal === "SIGSEGV", `${signal}: ${lines.join(", ")}`);
    const seen = await readBatches(path);
    for (const batch of acknowledged) assert.ok(seen.has(batch), `batch ${batch}`);
  });

  for (const [what, injection] of [
    ["a sync fails", "fdatasync:error=EIO:when=3"],
    ["the disk is full for a while", "pwrite64:error=ENOSPC:when=9..38"],
    ["every sync from one on fails", "fdatasync:error=EIO:when=4+"],
  ] as const) {
    it(`refuses a batch instead of breaking it when ${what}`, async () => {
      const path = join(temporary(), "jobs");
      const { acknowledged, lines } = runWriter(path, batches, [injection]);
      const refused = lines.filter((line) => line.startsWith("STORE_FAILED"));
      assert.ok(refused.length > 0, lines.join(", "));
      assert.ok(acknowledged.length > 0, lines.join(", "));
      const seen = await readBatches(path);
      for (const batch of acknowledged) assert.ok(seen.has(batch), `batch ${batch}`);
    });
  }

  it("refuses everything, and doesn't die, when LMDB's own pages cannot be written", async () => {
    const path = join(temporary(), "jobs");
    const { acknowledged, lines } = runWriter(path, batches, ["pwrite64:error=EIO:when=10+"]);
    assert.equal(acknowledged.length + lines.filter((line) => line.startsWith("STORE_FAILED")).length, batches[0]);
    const seen = await readBatches(path);
    for (const batch of acknowledged) assert.ok(seen.has(batch), `batch ${batch}`);
  });

  it("holds on a slow disk, where batches that come meanwhile go together", async () => {
    const path = join(temporary(), "jobs");
    const plain = runWriter(path, [60, 5, 6], ["fdatasync:delay_exit=20000"]);
    assert.equal(plain.acknowledged.length, 60);
    assert.ok(plain.hasEnded);
    assert.equal((await readBatches(path)).size, 60);
    const died = join(temporary(), "jobs");
    const cut = runWriter(died, [60, 5, 6], ["fdatasync:delay_exit=20000", "pwrite64:signal=SIGKILL:when=10"]);
    const seen = await readBatches(died);
    assert.ok(!cut.hasEnded && cut.acknowledged.length > 0);
    for (const batch of cut.acknowledged) assert.ok(seen.has(batch), `batch ${batch}`);
  });

  it("fails the batches behind one whose write failed on a slow disk", async () => {
    let wasSeen = false;
    // Calls count for each thread. An early one is the main thread's and ends the start; their number depends on the disk's first answers.
    for (let call = 9; !wasSeen && call < 40; call += 1) {
      const path = join(temporary(), "jobs");
      const run = runWriter(path, [60, 5, 6], ["fdatasync:delay_exit=20000", `pwrite64:error=EIO:when=${call}`]);
      const seen = await readBatches(path);
      for (const batch of run.acknowledged) assert.ok(seen.has(batch), `call ${call}: batch ${batch}`);
      wasSeen =
        run.hasEnded && run.acknowledged.length > 0 && run.lines.some((line) => line.startsWith("STORE_FAILED"));
    }
    assert.ok(wasSeen, "no call failed while batches were handed over");
  });
});

describe("the log's file", () => {
  const temporary = temporaryDirectories();
  it("is only its owner's to read, as the store is", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "commit" });
    await cache.keepReturns([returnOf(jid, "m1-0")]);
    const [log = ""] = listLogs(path);
    assert.ok(readFileSync(log).includes("m1-0"));
    await cache.close();
  });
});
