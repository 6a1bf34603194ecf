/** Waits for the end of a process that another one started. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A process that has ended stays a zombie until its parent waits for it. */
export async function processEnded(pid: number): Promise<void> {
  const stateOf = async () =>
    (await run("ps", ["-o", "stat=", "-p", String(pid)]).catch(() => ({ stdout: "" }))).stdout;
  for (const untilMs = Date.now() + 30_000; !/^(Z|$)/.test(await stateOf()); await sleep(20))
    assert.ok(Date.now() < untilMs, `process ${pid} still runs`);
}
