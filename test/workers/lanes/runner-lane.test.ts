/** The lane of runner functions: how it packs answers, and how it serves on after functions that never end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { nestingDepthMax } from "../../../src/limits.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import type { RunnerAnswer, RunnerAsk, RunnerResult, RunnerTask } from "../../../src/workers/messages/runner.ts";
import { LanePool } from "../../../src/workers/threads/lane-pool.ts";

const root = mkdtempSync(join(tmpdir(), "runner-lane-"));
const lane = new LanePool({
  filename: new URL("../../../src/workers/lanes/runner-lane.js", import.meta.url).href,
  threadCount: 1,
  threadsKept: 1,
  heap: { youngMb: 12, oldMb: 256 },
  concurrentTasksPerThread: 2,
  queueMax: 100,
  taskTimeoutMs: 5_000,
  workerData: { config: loadMasterConfig(root, { pki_dir: root, cachedir: root }) },
  onThreadLost: () => undefined,
});
after(async () => {
  await lane.close();
  rmSync(root, { recursive: true });
});

async function call(fun: string, argument: Value, isByEvent = false): Promise<RunnerResult> {
  const { port1, port2 } = new MessageChannel();
  port1.on("message", ({ id }: RunnerAsk) => port1.postMessage({ id, ok: true, value: null } satisfies RunnerAnswer));
  const caller = { kind: "runner", jid: "20260101000000000000", tag: "salt/run/1", user: "root", isByEvent } as const;
  const task: RunnerTask = {
    fun,
    args: encode([argument], "bin"),
    kwargs: encode(new Map(), "bin"),
    caller,
    port: port2,
  };
  try {
    return await lane.run<RunnerResult>(task, { transfer: [port2] });
  } finally {
    port1.close();
  }
}

describe("the runner lane", { timeout: 120_000 }, () => {
  it("packs an answer for each of its readers, so that the main thread does not decode it", async () => {
    // A text of 100 bytes has a head of its own in either flavour.
    const answer = { args: ["x".repeat(100), Buffer.of(0xff, 0xfe)], kwargs: {} };
    const { value, reply } = await call("test.arg", answer.args[0] ?? "");
    assert.deepEqual(value, new Uint8Array(encode({ ...answer, args: [answer.args[0]] }, "bin")));
    assert.deepEqual(reply, new Uint8Array(encode({ ...answer, args: [answer.args[0]] }, "raw")));
    const bytes = await call("test.arg", answer.args[1] ?? "", true);
    assert.deepEqual(bytes.value, new Uint8Array(encode({ ...answer, args: [answer.args[1]] }, "bin")));
    assert.equal(bytes.reply.length, 0, "the caller of an asynchronous function reads the event");
  });

  it("refuses an answer that is too deep for the event and the job cache around it", async () => {
    const nested = (depth: number) => Array.from({ length: depth }).reduce<Value>((inner) => [inner], null);
    // test.arg shows its arguments in a list in a map, and the lane leaves two levels for what is around the answer.
    assert.equal((await call("test.arg", nested(nestingDepthMax - 4))).success, true);
    const { success, value } = await call("test.arg", nested(nestingDepthMax - 3));
    assert.equal(success, false);
    assert.match(String(decode(value)), /nested too deep/);
  });

  it("runs further functions after functions that never ended took all its places", async () => {
    const endless = Array.from({ length: 2 }, () =>
      assert.rejects(call("test.sleep", 86_400), { code: "TASK_TIMEOUT" }),
    );
    await Promise.all(endless);
    const { success, value } = await call("test.arg", "served");
    assert.ok(success);
    assert.deepEqual((decode(value) as Map<string, unknown>).get("args"), ["served"]);
    assert.equal(lane.counters.threadsLost, 1);
  });
});
