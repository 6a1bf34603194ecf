import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { threadCpuSeconds } from "../../src/master/metrics-threads.ts";

const busyCode = `
import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
writeFileSync("/proc/thread-self/comm", "odd) name (");
const endMs = performance.now() + 150;
while (performance.now() < endMs);
parentPort.on("message", () => undefined);
parentPort.postMessage("done");
`;

describe("threadCpuSeconds", { skip: process.platform !== "linux" && "there is no /proc" }, () => {
  it("gives each thread's time by its name, whatever that holds, and the main thread's as main", async () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(busyCode)}`));
    await once(worker, "message");
    const seconds = threadCpuSeconds();
    assert.ok((seconds.get("main") ?? 0) > 0);
    assert.ok((seconds.get("odd) name (") ?? 0) > 0, JSON.stringify([...seconds]));
    const sum = [...seconds.values()].reduce((total, each) => total + each, 0);
    const { user, system } = process.cpuUsage();
    // Each thread is counted in hundredths of a second, cut off.
    assert.ok(sum <= (user + system) / 1e6 + 0.1, `${sum} s of ${(user + system) / 1e6} s`);
    await worker.terminate();
  });
});
