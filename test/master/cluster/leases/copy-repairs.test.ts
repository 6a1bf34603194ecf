/** Copies of batch logs that cannot be mended: which of them end, and what is not the cluster's fault. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import pino from "pino";
import type { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import type { LeaseKey, PartContent } from "../../../../src/cluster/leases/record.ts";
import { copyRepairRetryMs, copyRepairTriesMax } from "../../../../src/limits.ts";
import { BatchRun } from "../../../../src/master/batch-jobs/run.ts";
import { CopyRepairs, type LogCopy } from "../../../../src/master/cluster/leases/copy-repairs.ts";
import { batchLine } from "../../../../src/store/jobs/batch-log.ts";
import { temporaryDirectories } from "../../../store/temporary.ts";
import { begin, batchJid as jid, queue } from "./batch-member.ts";

const owner = { member: "a", session: "a-1" };

describe("copies of batch logs that are mended", () => {
  const temporary = temporaryDirectories();
  let nowMs = 0;

  beforeEach(() => {
    nowMs = performance.now();
    mock.method(performance, "now", () => nowMs);
  });
  afterEach(() => mock.restoreAll());

  function broken() {
    const directory = join(temporary(), "batches");
    const parts = new Map<number, PartContent>();
    const gone: boolean[] = [];
    const repairs = new CopyRepairs({
      ...{ directory, isOwn: () => false, logger: pino({ level: "silent" }) },
      bucket: () => ({ read }) as unknown as LeaseBucket,
      onGone: (_jid, isOver) => gone.push(isOver),
    });
    const read = async (key: LeaseKey) => (key.kind === "part" ? parts.get(key.number) : undefined);
    const run = new BatchRun(1);
    run.apply(begin);
    let offset = 0;
    for (const [number, entry] of [begin, queue("m1"), queue("m1", "m2")].entries()) {
      const bytes = batchLine(entry);
      parts.set(number, { owner, offset, bytes, isClaim: false });
      offset += bytes.byteLength;
    }
    const copy: LogCopy = { next: 3, end: 0, rest: Buffer.alloc(0), run, isBroken: true };
    repairs.add(jid, copy);
    const tried = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        nowMs += copyRepairRetryMs + 1;
        repairs.look();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { directory, parts, gone, repairs, copy, tried };
  }

  it("end with their job when the cluster has no part of the log any more", async () => {
    const { parts, gone, tried } = broken();
    parts.clear();
    await tried(copyRepairTriesMax - 1);
    assert.deepEqual(gone, []);
    await tried(2);
    assert.deepEqual(gone, [true]);
  });

  it("end with their job when a mark is in the place of the latest part", async () => {
    const { parts, gone, tried } = broken();
    parts.clear();
    parts.set(2, { owner, offset: 0, bytes: new Uint8Array(0), isClaim: false, isGone: true });
    await tried(copyRepairTriesMax);
    assert.deepEqual(gone, [true]);
  });

  it("stay while the cluster lacks a part of a job that goes on", async () => {
    const { parts, gone, repairs, tried } = broken();
    const lost = parts.get(1);
    parts.delete(1);
    await tried(copyRepairTriesMax + 1);
    assert.deepEqual([gone, repairs.counters.givenUp], [[], 0]);
    if (lost !== undefined) parts.set(1, lost);
    await tried(1);
    assert.equal(repairs.counters.repaired, 1);
  });

  it("of a job that is over are given up when the cluster lacks a part", async () => {
    const { parts, gone, repairs, tried } = broken();
    parts.clear();
    repairs.noteOver(jid);
    await tried(copyRepairTriesMax);
    assert.deepEqual([gone, repairs.counters.givenUp], [[], 1]);
  });

  it("of a job that is over wait until the disk here takes them", async () => {
    const { directory, repairs, copy, tried } = broken();
    writeFileSync(directory, "");
    repairs.noteOver(jid);
    await tried(copyRepairTriesMax + 1);
    assert.deepEqual([repairs.counters.givenUp, copy.isBroken], [0, true]);
    rmSync(directory);
    mkdirSync(directory);
    await tried(1);
    assert.deepEqual([repairs.counters.repaired, copy.isBroken], [1, false]);
  });
});
