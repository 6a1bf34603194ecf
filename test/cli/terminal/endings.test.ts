import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { cliFile } from "../../fleet/our-master.ts";
import { repositoryRoot } from "../../root.ts";

const deadlineMs = 200_000;
const waitMs = 60_000;
const pollMs = 100;

/** Processes whose command line holds the text. */
function processesNaming(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      const file = `/proc/${name}/cmdline`;
      try {
        return readFileSync(file, "utf8").includes(text);
      } catch {
        // A process may end while it is read.
        return false;
      }
    });
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + waitMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`not ${what} within ${waitMs} ms`);
    await wait(pollMs);
  }
}

describe("a signal leaves no process and no directory behind", { timeout: deadlineMs }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "end-"));
  });
  after(async () => {
    // A program that did not end keeps this one alive.
    for (const pid of processesNaming(folder)) end(Number(pid));
    await rm(folder, { recursive: true, force: true });
  });
  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, args, {
      stdio: ["ignore", "ignore", "ignore"],
      // Node's test runner does nothing within a test, unless this variable is removed.
      env: { ...process.env, TMPDIR: folder, NODE_TEST_CONTEXT: undefined },
      cwd: repositoryRoot,
    });
  const made = (beginning: string) => readdirSync(folder).some((name) => name.startsWith(beginning));

  it("Ctrl-C while a bench starts its master", async () => {
    const bench = start([cliFile, "bench", "ping-all", `--output=${folder}`]);
    await until("a directory of a master", () => made("sw-"));
    bench.kill("SIGINT");
    assert.deepEqual(await once(bench, "exit"), [130, null]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("sw-")),
      [],
    );
    assert.deepEqual(processesNaming(folder), []);
  });

  it("Ctrl-C while a bench measures the job cache", async () => {
    const bench = start([cliFile, "bench", "job-cache", `--output=${folder}`]);
    await until("a directory of a job cache", () => made("saltworks-store-bench-"));
    bench.kill("SIGINT");
    assert.deepEqual(await once(bench, "exit"), [130, null]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => /^(saltworks-store-bench-|sw-)/.test(name)),
      [],
    );
    assert.deepEqual(processesNaming(folder), []);
  });

  it("TERM for the program that runs the tests", async () => {
    const tests = start([
      join(repositoryRoot, "scripts/test.mjs"),
      "--group",
      "heavy",
      "fleet/jobs/runner-answers.test",
    ]);
    // A master, which the tests started.
    await until("a master of the tests", () => processesNaming(join(folder, "sw-")).length > 0);
    tests.kill("SIGTERM");
    assert.deepEqual(await once(tests, "exit"), [143, null]);
    await until("an end of all processes", () => processesNaming(folder).length === 0);
  });
});
