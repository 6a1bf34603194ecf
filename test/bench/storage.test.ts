import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { spendingCells } from "../../bench/report/spending.ts";
import { bytesOnDisk, storageBetween, storageOf } from "../../bench/scenarios/measures/storage.ts";
import { samplePoint } from "./sample-result.ts";

describe("what a span wrote", () => {
  it("is given by operation, and as the growth of a day at the span's rate", () => {
    const before = { writtenBytes: 1_000, syncs: 5, batches: 6, cacheBytes: 10_000 };
    const after = { writtenBytes: 9_000, syncs: 9, batches: 12, cacheBytes: 14_000 };
    const storage = storageOf({ storage: storageBetween(before, after), wallMs: 2_000 }, 4);
    assert.deepEqual(storage, {
      ...{ writtenBytes: 8_000, writtenBytesPerOperation: 2_000, syncs: 4, syncsPerOperation: 1, batches: 6 },
      ...{ cacheBytesBefore: 10_000, cacheBytesAfter: 14_000, cacheBytesPerOperation: 1_000 },
      cacheBytesPerDay: 4_000 * 43_200,
    });
  });

  it("says of what is not known, such as Salt's syncs, that it is not known", () => {
    const before = { writtenBytes: 1_000, syncs: undefined, batches: undefined, cacheBytes: 10_000 };
    const storage = storageOf({ storage: storageBetween(before, before), wallMs: 2_000 }, 4);
    assert.equal("syncs" in storage, false);
    const cells = spendingCells({ point: samplePoint({ storage }) });
    assert.deepEqual(cells, ["0", "not known", "0", "0", "not known", "not known"]);
  });

  it("is unknown after a restart, whose counters begin again", () => {
    const before = { writtenBytes: 1_000, syncs: 7, batches: 7, cacheBytes: 10_000 };
    const after = { writtenBytes: 10, syncs: 0, batches: 0, cacheBytes: 20_000 };
    const { writtenBytes, syncs } = storageBetween(before, after);
    assert.deepEqual([writtenBytes, syncs], [undefined, undefined]);
  });
});

describe("bytesOnDisk", () => {
  it("counts the blocks of a whole tree", (context) => {
    const directory = mkdtempSync(join(tmpdir(), "saltworks-storage-test-"));
    context.after(() => rmSync(directory, { recursive: true }));
    mkdirSync(join(directory, "a"));
    const empty = bytesOnDisk(directory);
    writeFileSync(join(directory, "a", "file"), Buffer.alloc(100_000, 1));
    const grown = bytesOnDisk(directory) - empty;
    assert.ok(grown >= 100_000 && grown < 120_000, `${grown} bytes`);
    assert.equal(bytesOnDisk(join(directory, "absent")), 0);
  });
});
