import assert from "node:assert/strict";
import { once } from "node:events";
import { url } from "node:inspector";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { threadStacks } from "../../../src/cli/daemon/thread-stacks.ts";

describe("the threads' stacks", () => {
  it("name function and file of a thread that computes, which goes on, and open no debugger", async () => {
    const program = `
      const { parentPort, workerData } = require("node:worker_threads");
      function countForEver() { for (;;) Atomics.add(workerData, 0, 1); }
      parentPort.postMessage("up");
      countForEver();
      //# sourceURL=counting.js`;
    const rounds = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(program, { eval: true, workerData: rounds });
    await once(worker, "message");
    const [stack = ""] = await threadStacks();
    assert.match(stack, /at countForEver \(.*counting\.js:3\)/);
    assert.equal(url(), undefined);
    const before = Atomics.load(rounds, 0);
    while (Atomics.load(rounds, 0) === before) await new Promise((resolve) => setImmediate(resolve));
    await worker.terminate();
  });
});
