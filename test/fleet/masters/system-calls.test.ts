/** Reads strace's record: interrupted calls, exchanges, and which calls count as synced. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangesOn, isSyncedWithin, parseTrace } from "./system-calls.ts";

const arrival = '12 read(57<TCP:[127.0.0.1:4506->127.0.0.1:42768]>, ""..., 131072) = 548';
const reply = '12 write(57<TCP:[127.0.0.1:4506->127.0.0.1:42768]>, ""..., 103) = 103';
const write = '11 pwrite64(58</c/jobs.lmdb/0.mdb>, ""..., 4096, 8192) = 4096';
const sync = "11 fdatasync(58</c/jobs.lmdb/0.mdb>) = 0";
const metaWrite = '11 pwrite64(59</c/jobs.lmdb/0.mdb>, ""..., 128, 40) = 128';
const synced = new Set(["59</c/jobs.lmdb/0.mdb"]);

function isSynced(lines: string[]): boolean[] {
  const calls = parseTrace(lines.join("\n"));
  return exchangesOn(calls, 4506).map((exchange) => isSyncedWithin(calls, exchange, "/c/jobs.lmdb", synced));
}

describe("system calls", () => {
  it("joins a call that was interrupted by another thread's", () => {
    const calls = parseTrace(
      ["11 fdatasync(58</c/jobs.lmdb/0.mdb> <unfinished ...>", arrival, "11 <... fdatasync resumed>)      = 0"].join(
        "\n",
      ),
    );
    assert.deepEqual(
      calls.map(({ name, start, end, result }) => ({ name, start, end, result })),
      [
        { name: "fdatasync", start: 0, end: 2, result: 0 },
        { name: "read", start: 1, end: 1, result: 548 },
      ],
    );
  });

  it("takes a sync and a synced last write between request and reply for durable", () => {
    assert.deepEqual(isSynced([arrival, write, sync, metaWrite, reply]), [true]);
  });

  it("takes none, one that failed, one of another file and one at the wrong time for not durable", () => {
    assert.deepEqual(isSynced([arrival, write, metaWrite, reply]), [false]);
    assert.deepEqual(isSynced([arrival, write, sync.replace("= 0", "= -1 EIO"), metaWrite, reply]), [false]);
    assert.deepEqual(isSynced([arrival, write, sync.replace("jobs", "minions"), metaWrite, reply]), [false]);
    assert.deepEqual(isSynced([arrival, write, reply, sync, metaWrite]), [false]);
    assert.deepEqual(isSynced([write, sync, metaWrite, arrival, reply]), [false]);
  });

  it("takes a write after the sync through an ordinary descriptor for not durable", () => {
    assert.deepEqual(isSynced([arrival, write, sync, metaWrite.replace("59<", "58<"), reply]), [false]);
  });

  it("takes a sync that began before the request or ended after the reply for not durable", () => {
    const entered = "11 fdatasync(58</c/jobs.lmdb/0.mdb> <unfinished ...>";
    const left = "11 <... fdatasync resumed>)      = 0";
    assert.deepEqual(isSynced([entered, arrival, left, metaWrite, reply]), [false]);
    assert.deepEqual(isSynced([arrival, write, metaWrite, entered, reply, left]), [false]);
  });
});
