import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  BatchLog,
  hasBatch,
  listBatches,
  readBatchEntries,
  readBatchSummary,
  removeBatch,
} from "../../../src/store/jobs/batch-log.ts";
import type { BatchEntry } from "../../../src/wire/batch-options.ts";

const jid = "20260101000000000000";
const first = { kind: "new", jid, at: 1 } as unknown as BatchEntry;
const late = (id: string): BatchEntry => ({ kind: "late", id });

describe("the log of a batch", () => {
  let directory: string;
  before(() => {
    directory = join(mkdtempSync(join(tmpdir(), "sw-batch-log-")), "batches");
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("gives entries back from any of their offsets, and tells where each ends", () => {
    const log = BatchLog.create(directory, jid);
    const placed = [first, late("a"), late("b")].map((entry) => log.append(entry));
    log.close();
    assert.deepEqual(readBatchEntries(directory, jid, 0, 1_000_000), placed);
    assert.deepEqual(readBatchEntries(directory, jid, placed[1]?.offset ?? -1, 1_000_000), placed.slice(1));
    assert.deepEqual(readBatchEntries(directory, jid, placed[2]?.end ?? -1, 1_000_000), []);
    assert.equal(statSync(join(directory, `${jid}.log`)).mode & 0o777, 0o600);
  });

  it("goes on after a line that a crash cut off", () => {
    appendFileSync(join(directory, `${jid}.log`), '{"kind":"late","i');
    const { log, entries } = BatchLog.reopen(directory, jid);
    assert.deepEqual(entries, [first, late("a"), late("b")]);
    log.append(late("c"));
    log.close();
    const read = readBatchEntries(directory, jid, 0, 1_000_000).map(({ entry }) => entry);
    assert.deepEqual(read, [first, late("a"), late("b"), late("c")]);
  });

  it("is read in parts, each of whole entries, entries longer than a part among them", () => {
    const long = "20260101000000000001";
    const log = BatchLog.create(directory, long);
    const entries = [
      first,
      late("x".repeat(300_000)),
      ...Array.from({ length: 20_000 }, (_, index) => late(`m${index}`)),
    ];
    for (const entry of entries) log.append(entry);
    log.close();
    const read: BatchEntry[] = [];
    let parts = 0;
    for (let offset = 0; ; parts += 1) {
      const part = readBatchEntries(directory, long, offset, 10_000);
      const last = part.at(-1);
      if (last === undefined) break;
      read.push(...part.map(({ entry }) => entry));
      offset = last.end;
    }
    assert.deepEqual(read, entries);
    assert.ok(parts > 2, `${parts}`);
  });

  it("tells how a batch began and whether it is over from its ends alone", () => {
    assert.deepEqual(readBatchSummary(directory, jid), { first, last: first });
    const { log } = BatchLog.reopen(directory, jid);
    const done = { kind: "done", at: 5, outcome: "finished" } as unknown as BatchEntry;
    log.append(done);
    log.close();
    assert.deepEqual(readBatchSummary(directory, jid), { first, last: done });
  });

  it("is found by its job id, which is not a path, and can be removed", () => {
    assert.deepEqual(listBatches(directory), [jid, "20260101000000000001"]);
    assert.deepEqual(listBatches(join(directory, "nowhere")), []);
    assert.equal(hasBatch(directory, jid), true);
    for (const name of ["../batches/20260101000000000000", "20260101000000000009", ""]) {
      assert.equal(hasBatch(directory, name), false);
      assert.throws(() => readBatchEntries(directory, name, 0, 1), { code: "FUNCTION_ARGUMENTS" });
    }
    removeBatch(directory, jid);
    assert.deepEqual(readdirSync(directory), ["20260101000000000001.log"]);
  });

  it("is not begun twice", () => {
    assert.throws(() => BatchLog.create(directory, "20260101000000000001"), { code: "STORE_FAILED" });
  });
});
