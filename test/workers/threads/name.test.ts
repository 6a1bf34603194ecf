import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

const module = new URL("../../../src/workers/threads/name.js", import.meta.url).href;

/** Runs in a thread that stays until the test ends it. */
const threadCode = `
import { parentPort, workerData } from "node:worker_threads";
import { nameLaneThread, nameThread } from ${JSON.stringify(module)};
if (workerData.name !== undefined) nameThread(workerData.name);
else nameLaneThread("rsa", workerData.startedThreads);
parentPort.on("message", () => undefined);
parentPort.postMessage("named");
`;

async function startThread(workerData: object): Promise<Worker> {
  const code = new URL(`data:text/javascript,${encodeURIComponent(threadCode)}`);
  const worker = new Worker(code, { workerData });
  await once(worker, "message");
  return worker;
}

function threadNames(): string[] {
  return readdirSync("/proc/self/task").map((id) => readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim());
}

describe("thread names", { skip: process.platform !== "linux" && "the system lists no thread names" }, () => {
  it("are listed by the system, and the main thread keeps its own", async () => {
    const mainName = readFileSync(`/proc/self/task/${process.pid}/comm`, "utf8");
    const worker = await startThread({ name: "sw-worker-3" });
    assert.ok(threadNames().includes("sw-worker-3"));
    assert.equal(readFileSync(`/proc/self/task/${process.pid}/comm`, "utf8"), mainName);
    await worker.terminate();
  });

  it("number a lane's threads in the order of their starts", async () => {
    const startedThreads = new SharedArrayBuffer(4);
    const first = await startThread({ startedThreads });
    const second = await startThread({ startedThreads });
    assert.deepEqual(
      threadNames().filter((name) => name.startsWith("sw-rsa")),
      ["sw-rsa-0", "sw-rsa-1"],
    );
    await Promise.all([first.terminate(), second.terminate()]);
  });
});
