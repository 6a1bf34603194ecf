import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { LaneMeasuresReader } from "../../../src/workers/measures/lane-measures.ts";

const module = new URL("../../../src/workers/measures/lane-measures.js", import.meta.url).href;
/** Timeout for a busy machine; answers come within milliseconds. */
const answerTimeoutMs = 20_000;

/** A thread that answers, and can be told to be busy until the shared word changes. */
const threadCode = `
import { parentPort, workerData } from "node:worker_threads";
import { answerForMeasures } from ${JSON.stringify(module)};
answerForMeasures(workerData.name);
parentPort.on("message", (word) => {
  parentPort.postMessage("busy");
  Atomics.wait(new Int32Array(word), 0, 0);
  parentPort.postMessage("idle");
});
parentPort.postMessage("up");
`;

async function startThread(name: string): Promise<Worker> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(threadCode)}`), {
    workerData: { name },
  });
  await once(worker, "message");
  return worker;
}

describe("measures of lane threads", () => {
  const reader = new LaneMeasuresReader();
  const threads: Worker[] = [];
  before(async () => {
    threads.push(await startThread("sw-rsa-0"), await startThread("sw-pillar-4"));
  });
  after(async () => {
    reader.close();
    await Promise.all(threads.map((thread) => thread.terminate()));
  });

  it("come from each thread by its name", async () => {
    const found = await reader.read(2, answerTimeoutMs);
    assert.deepEqual([...found.keys()].sort(), ["sw-pillar-4", "sw-rsa-0"]);
    for (const { heapUsedBytes, loopBusySeconds } of found.values())
      assert.ok(heapUsedBytes > 1e5 && loopBusySeconds > 0);
  });

  it("leave out a thread in the middle of a task, for that look only", async () => {
    const word = new SharedArrayBuffer(4);
    const busy = threads[1];
    assert.ok(busy);
    busy.postMessage(word);
    await once(busy, "message");
    assert.deepEqual([...(await reader.read(2, 3_000)).keys()], ["sw-rsa-0"]);
    const isIdle = once(busy, "message");
    Atomics.store(new Int32Array(word), 0, 1);
    Atomics.notify(new Int32Array(word), 0);
    await isIdle;
    assert.equal((await reader.read(2, answerTimeoutMs)).size, 2);
  });

  it("ask no thread where none runs", async () => {
    assert.equal((await reader.read(0, answerTimeoutMs)).size, 0);
  });
});
