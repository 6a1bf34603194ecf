/** CPU time by thread: a busy worker shows under its own name, and the difference of two readings is its work. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { threadTimes, threadTimesBetween } from "../../bench/cpu-by-thread.ts";

/** Computes for a while in its main thread and in a child, reports it, and waits. */
const program = `
const work = "const end = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < end);";
process.stdin.once("data", () => {
  eval(work);
  const child = require("node:child_process").spawn(process.execPath, ["-e", work + "process.stdout.write('x'); process.stdin.on('close', () => process.exit()).resume()"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdout.once("data", () => process.stdout.write("done"));
});
process.stdout.write("ready");
`;

describe("threadTimes", () => {
  it("tells the main thread from those of children, and counts only what came between", async () => {
    const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      await once(child.stdout, "data");
      const before = threadTimes(child.pid ?? 0);
      child.stdin.write("go");
      await once(child.stdout, "data");
      const spent = threadTimesBetween(before, threadTimes(child.pid ?? 0));
      assert.ok((spent.main ?? 0) >= 50, JSON.stringify(spent));
      assert.ok((spent.node ?? 0) >= 50, JSON.stringify(spent));
      assert.deepEqual(threadTimesBetween(before, before), {});
    } finally {
      // The grandchild ends when its pipe closes.
      child.kill();
    }
  });

  it("is empty for a process that is gone", () => {
    assert.equal(threadTimes(2 ** 22 + 1).size, 0);
  });
});
