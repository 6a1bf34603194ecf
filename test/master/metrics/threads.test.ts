import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { ThreadCpu } from "../../../src/master/metrics/threads.ts";

const busyCode = `
import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
writeFileSync("/proc/thread-self/comm", "odd) name (");
const endMs = performance.now() + 500;
while (performance.now() < endMs);
parentPort.on("message", () => undefined);
parentPort.postMessage("done");
`;

/** Computes under its first name, then under its second. */
const renamingCode = `
import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
const work = () => {
  const endMs = performance.now() + 500;
  while (performance.now() < endMs);
};
work();
parentPort.on("message", () => {
  writeFileSync("/proc/thread-self/comm", "named-late");
  work();
  parentPort.postMessage("renamed");
});
parentPort.postMessage("ready");
`;

describe("ThreadCpu", { skip: process.platform !== "linux" && "there is no /proc" }, () => {
  it("gives each thread's time by its name, with any characters, and the main thread's as main", async () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(busyCode)}`));
    await once(worker, "message");
    const seconds = new ThreadCpu().read();
    assert.ok((seconds.get("main") ?? 0) > 0);
    assert.ok((seconds.get("odd) name (") ?? 0) > 0, JSON.stringify([...seconds]));
    const sum = [...seconds.values()].reduce((total, each) => total + each, 0);
    const { user, system } = process.cpuUsage();
    // Each thread's time is cut off to hundredths of a second.
    assert.ok(sum <= (user + system) / 1e6 + 0.1, `${sum} s of ${(user + system) / 1e6} s`);
    await worker.terminate();
  });

  it("sums the ended threads of a lane, because their numbers never come again", async () => {
    const codeOf = (name: string) => busyCode.replace("odd) name (", name);
    const cpu = new ThreadCpu();
    for (const name of ["sw-runner-1", "sw-runner-2", "sw-worker-0"]) {
      const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(codeOf(name))}`));
      await once(worker, "message");
      assert.ok((cpu.read().get(name) ?? 0) > 0, name);
      await worker.terminate();
    }
    const names = [...cpu.read().keys()].filter((name) => name.startsWith("sw-")).sort();
    assert.deepEqual(names, ["sw-runner-ended", "sw-worker-0"]);
  });

  it("never counts down: not when a thread takes its own name, nor when it ends", async () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(renamingCode)}`));
    await once(worker, "message");
    const cpu = new ThreadCpu();
    const unnamed = cpu.read();
    worker.postMessage("rename");
    await once(worker, "message");
    const named = cpu.read();
    assert.ok(
      (named.get("other") ?? 0) >= (unnamed.get("other") ?? 0),
      "what it used without a name stays where it was",
    );
    const own = named.get("named-late") ?? 0;
    assert.ok(own > 0, JSON.stringify([...named]));
    await worker.terminate();
    const ended = cpu.read();
    assert.ok((ended.get("named-late") ?? 0) >= own);
    assert.ok((ended.get("other") ?? 0) >= (named.get("other") ?? 0));
  });
});
