import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

const module = new URL("../../../src/workers/threads/priority.js", import.meta.url).href;
const threadCode = `
import { readlinkSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { yieldToOthers } from ${JSON.stringify(module)};
yieldToOthers();
parentPort.on("message", () => undefined);
parentPort.postMessage(readlinkSync("/proc/thread-self").split("/").at(-1));
`;
/** Field 19 of proc(5)'s stat; the first field after the name in parentheses is field 3. */
const niceField = 19 - 3;

function niceOf(threadId: string): number {
  const stat = readFileSync(`/proc/self/task/${threadId}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[niceField]);
}

describe("yieldToOthers", { skip: process.platform !== "linux" && "threads have no priority of their own" }, () => {
  it("lowers the calling thread and no other", async () => {
    const before = getPriority();
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(threadCode)}`));
    const [threadId] = (await once(worker, "message")) as [string];
    assert.equal(niceOf(threadId), Math.min(19, before + 10));
    assert.equal(niceOf(String(process.pid)), before);
    await worker.terminate();
  });
});
