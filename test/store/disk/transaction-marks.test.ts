import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { threadId } from "node:worker_threads";
import { closeEnvironment, openEnvironment, transact } from "../../../src/store/lmdb/env.ts";
import { isInTransaction, markTransactions, newTransactionMarks } from "../../../src/store/lmdb/transaction-marks.ts";
import { temporaryDirectories } from "../temporary.ts";

describe("a thread's mark", () => {
  const memory = newTransactionMarks();
  const environment = openEnvironment({
    file: join(temporaryDirectories()(), "0.mdb"),
    isSyncedOnCommit: false,
    isReadOnly: false,
  });
  after(() => closeEnvironment(environment));
  const amount = { records: 1, bytes: 100 };
  const isMarked = () => isInTransaction(memory, threadId);

  it("is there during a transaction only, also one that fails", () => {
    markTransactions(memory);
    assert.equal(isMarked(), false);
    assert.equal(transact(environment, amount, isMarked), true);
    assert.equal(isMarked(), false);
    const fail = () => {
      throw new Error("told to fail");
    };
    assert.throws(() => transact(environment, amount, fail), /told to fail/);
    assert.equal(isMarked(), false);
    assert.equal(transact(environment, amount, isMarked), true);
  });
});
