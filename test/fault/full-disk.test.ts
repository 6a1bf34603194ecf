/**
 * A disk that fills while several threads write: the process lives, refuses with messages, and has all that it acknowledged. Two
 * rounds; SALTWORKS_FAULT_ROUNDS=50 runs more (`npm run test:soak`).
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { jidOf } from "../../bench/store/load.ts";
import { returnLogBytes } from "../../src/limits.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { fillLockFile } from "../../src/store/lmdb/room.ts";
import { returnOf } from "../contract/job-samples.ts";
import { returnsIn } from "../contract/returns-in.ts";
import { assertThere, endSignal, minionIdsOf, type Written } from "./disk-writer.ts";
import { mountSmallDisk, type SmallDisk, smallDiskSkip } from "./small-disk.ts";

const rounds = Number(process.env.SALTWORKS_FAULT_ROUNDS ?? 2);
const writer = fileURLToPath(new URL("./disk-writer.js", import.meta.url));
const newStore = fileURLToPath(new URL("./new-store.js", import.meta.url));
const writeMs = 7_000;
const endTimeoutMs = 90_000;
const megabytes = 20;

const skip = smallDiskSkip();

function smallDisk(): SmallDisk {
  const disk = mountSmallDisk(megabytes);
  assert.ok(disk, "only root can mount a small disk");
  return disk;
}

/** Takes all free room of the disk, as another program's files could. */
function fill(disk: SmallDisk): string {
  const path = join(disk.path, "ballast");
  spawnSync("dd", ["if=/dev/zero", `of=${path}`, "bs=4k"], { stdio: "ignore" });
  return path;
}

describe("a full disk", { skip }, () => {
  for (let round = 1; round <= rounds; round += 1) {
    it(`ends no process that writes and loses nothing acknowledged, round ${round}`, async (context) => {
      const disk = smallDisk();
      try {
        const { signal, stdout, stderr } = spawnSync(process.execPath, [writer, disk.path, "3", String(writeMs)], {
          encoding: "utf8",
          timeout: endTimeoutMs,
        });
        assert.equal(signal, endSignal, `ended by ${signal}: ${stderr.slice(-2_000)}`);
        assert.doesNotMatch(stderr, /Write error/, "LMDB met the full disk");
        const { acknowledged, refused, faults } = JSON.parse(stdout) as Written;
        context.diagnostic(`${acknowledged.length} batches acknowledged, ${refused} refused, ${faults} faults told`);
        assert.ok(refused + faults > 0, "the disk did not fill");
        await assertThere(disk.path, acknowledged);
      } finally {
        disk.remove();
      }
    });
  }

  it("that has no room for a new data file is an error, however little is free", () => {
    const disk = smallDisk();
    try {
      const path = join(disk.path, "jobs.lmdb");
      const open = () => spawnSync(process.execPath, [newStore, path], { encoding: "utf8", timeout: endTimeoutMs });
      for (const freeKilobytes of [0, 32, 36, 40, 44, 48, 512]) {
        rmSync(path, { recursive: true, force: true });
        const ballast = fill(disk);
        truncateSync(ballast, statSync(ballast).size - freeKilobytes * 1024);
        const { signal, stdout, stderr } = open();
        assert.equal(signal, null, `ended by ${signal} with ${freeKilobytes} KB free: ${stderr}`);
        assert.match(stdout, /^STORE_FAILED .*ENOSPC/, `${freeKilobytes} KB free`);
        assert.ok(!existsSync(join(path, "0.mdb")), "nothing half made");
        rmSync(ballast);
      }
      assert.equal(open().stdout, "opened");
    } finally {
      disk.remove();
    }
  });

  it("that was full before is met at once, and what waits in logs is read at once", async () => {
    const disk = smallDisk();
    try {
      const path = join(disk.path, "jobs.lmdb");
      const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", onFault: () => undefined });
      await cache.keepReturns([returnOf(jidOf(0), "first")]);
      fill(disk);
      const ids: string[] = [];
      let refused = 0;
      for (let batch = 0; refused === 0 && batch < returnLogBytes / 4_096; batch += 1) {
        const own = minionIdsOf(0, batch);
        try {
          await cache.keepReturns(own.map((id) => returnOf(jidOf(1), id, "x".repeat(400))));
          ids.push(...own);
        } catch {
          refused += 1;
        }
      }
      assert.ok(ids.length > 1_000, `${ids.length} returns were taken`);
      const reader = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
      const before = bytesRead();
      const bodies = await Promise.all(ids.map((id) => reader.returnOf(jidOf(1), id)));
      assert.equal(bodies.filter((body) => body !== undefined).length, ids.length);
      const read = bytesRead() - before;
      assert.ok(read < 3 * returnLogBytes, `${read} bytes were read for ${ids.length} returns`);
      await reader.close();
      await assert.rejects(cache.close(), { code: "STORE_FAILED" });
    } finally {
      disk.remove();
    }
  });

  it("is told in words to a reader that has no lock file yet: LMDB would map one without room, and end the process", async () => {
    const disk = smallDisk();
    try {
      const path = join(disk.path, "jobs.lmdb");
      const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
      await cache.keepReturns([returnOf(jidOf(0), "first")]);
      await cache.close();
      rmSync(join(path, "0.mdb-lock"));
      fill(disk);
      const open = () => openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
      assert.throws(open, { code: "STORE_FAILED", message: /ENOSPC/ });
    } finally {
      disk.remove();
    }
  });

  it("ends no master whose lock file an earlier release made without room", async () => {
    const disk = smallDisk();
    try {
      const path = join(disk.path, "jobs.lmdb");
      const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
      await cache.keepReturns([returnOf(jidOf(0), "first")]);
      await cache.close();
      const lock = join(path, "0.mdb-lock");
      const { size } = statSync(lock);
      rmSync(lock);
      writeFileSync(lock, "");
      truncateSync(lock, size);
      fillLockFile(join(path, "0.mdb"));
      assert.ok(statSync(lock).blocks * 512 >= size, "every place has its room");
      fill(disk);
      const reader = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
      assert.equal((await returnsIn(reader, jidOf(0))).length, 1);
      await reader.close();
    } finally {
      disk.remove();
    }
  });
});

/** Bytes that this process has read by system calls. */
function bytesRead(): number {
  const { stdout } = spawnSync("cat", [`/proc/${process.pid}/io`], { encoding: "utf8" });
  return Number(/rchar: (\d+)/.exec(stdout)?.[1] ?? Number.NaN);
}
