import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileDeliveryMs, fileRequestsMax, fileRequestsWaitingBytesMax, fileWaitMs } from "../../../src/limits.ts";
import { FileAnswers, type FileAnswersOptions } from "../../../src/master/answers/files.ts";
import type { FileTask } from "../../../src/workers/messages/lanes.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import { namedConnection } from "../ports/named-connection.ts";
import { sealingPool } from "./sealing-pool.ts";

const pieceBytes = 100;
const seal = { key: "session", nonce: "" } as const;

/** A lane whose answers the test gives one by one; sealing adds nothing. */
function open(bytesOnTheirWayMax = 1_000) {
  const started: { readonly task: FileTask; readonly answer: (bytes: number) => void; readonly fail: () => void }[] =
    [];
  const clock = { nowMs: 0 };
  const lane = {
    run: (task: FileTask) =>
      new Promise((resolve, reject) => {
        const answer = (bytes: number) => resolve({ answer: new Uint8Array(bytes) });
        started.push({ task, answer, fail: () => reject(new Error("the disk is gone")) });
      }),
  } as unknown as FileAnswersOptions["lane"];
  const partitioner = new Partitioner(createPartitionKey(), 4);
  const nowMs = () => clock.nowMs;
  const answers = new FileAnswers({ lane, pool: sealingPool, partitioner, pieceBytes, bytesOnTheirWayMax, nowMs });
  const ask = (connection: string, cmd = "_serve_file", loadBytes = 10) => {
    const task = { cmd, load: new Uint8Array(loadBytes), id: "web1" };
    const asked = answers.answer({ item: 0, kind: "files", task, id: "web1", seal }, namedConnection(connection));
    // The tests await it later; until then a rejection must not count as unhandled.
    asked.catch(() => undefined);
    return asked;
  };
  /** Lets callbacks of all settled promises run. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { answers, started, clock, ask, settle };
}

describe("answers to requests for files", () => {
  it("are made and sealed, some at a time", async () => {
    const { answers, started, ask, settle } = open(1_000_000);
    const asked = Array.from({ length: fileRequestsMax + 1 }, (_, index) => ask(`c${index}`));
    await settle();
    assert.deepEqual([started.length, answers.waitingCount], [fileRequestsMax, 1]);
    started[0]?.answer(100);
    assert.equal((await asked[0])?.length, 100);
    await settle();
    assert.deepEqual([started.length, answers.waitingCount], [fileRequestsMax + 1, 0]);
    for (const { answer } of started) answer(1);
    await Promise.all(asked);
    assert.equal(answers.counters.answered, fileRequestsMax + 1);
  });

  it("wait for answers on their way, until their connection asks again", async () => {
    const { answers, started, ask, settle } = open(250);
    for (const connection of ["a", "b"]) {
      const asked = ask(connection);
      await settle();
      started.at(-1)?.answer(100);
      await asked;
    }
    assert.equal(answers.bytesOnTheirWay, 200);
    const third = ask("c");
    await settle();
    assert.deepEqual([started.length, answers.waitingCount], [2, 1]);
    // The next piece for a, which has read the former one.
    const next = ask("a");
    await settle();
    assert.deepEqual([started.length, started.at(-1)?.task.cmd], [3, "_serve_file"]);
    started[2]?.answer(0);
    await third;
    await settle();
    started[3]?.answer(0);
    await next;
    assert.deepEqual([answers.counters.answered, answers.bytesOnTheirWay], [4, 100]);
  });

  it("count as delivered after a while, even if their connections do nothing", async () => {
    const { answers, started, clock, ask, settle } = open(150);
    const first = ask("a");
    await settle();
    started[0]?.answer(100);
    await first;
    clock.nowMs += fileDeliveryMs;
    const second = ask("b");
    await settle();
    assert.equal(started.length, 2);
    started[1]?.answer(5);
    await second;
    assert.equal(answers.bytesOnTheirWay, 5);
  });

  it("are expected to be as large as the last list of their kind, and a lone one may be larger than the bound", async () => {
    const { started, clock, ask, settle } = open(250);
    const big = ask("a", "_file_list");
    await settle();
    started[0]?.answer(10_000);
    await big;
    clock.nowMs += fileDeliveryMs;
    void ask("b", "_file_list");
    void ask("c", "_file_list");
    await settle();
    assert.equal(started.length, 2);
  });

  it("are refused when too much waits, or when they have waited too long", async () => {
    const { answers, started, clock, ask, settle } = open(100);
    const first = ask("a");
    await settle();
    const late = ask("b");
    const large = ask("c", "_file_recv", fileRequestsWaitingBytesMax);
    await assert.rejects(large, { code: "QUEUE_FULL" });
    clock.nowMs += fileWaitMs + 1;
    started[0]?.answer(0);
    await first;
    await assert.rejects(late, { code: "TASK_TIMEOUT" });
    assert.deepEqual([answers.counters.refused, answers.waitingCount, started.length], [2, 0, 1]);
  });

  it("that fail make room for others", async () => {
    const { answers, started, ask, settle } = open(100);
    const first = ask("a");
    const second = ask("b");
    await settle();
    started[0]?.fail();
    await assert.rejects(first, /the disk is gone/);
    await settle();
    started[1]?.answer(7);
    assert.equal((await second).length, 7);
    assert.equal(answers.counters.failed, 1);
  });
});
