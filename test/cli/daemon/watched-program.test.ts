import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { pino } from "pino";
import { WatchedProgram } from "../../../src/cli/daemon/watched-program.ts";

const log = pino({ level: "silent" });
const restartMs = { first: 1, longest: 4 };
const waiting = "setInterval(() => {}, 1000)";

/** Watches a Node program; `started` resolves with the process id of its next start. */
function watch(script: string) {
  const waiters: ((pid: number) => void)[] = [];
  const onStart = (pid: number) => waiters.shift()?.(pid);
  const args = ["-e", script];
  const program = new WatchedProgram({ name: "a program", command: process.execPath, args, log, restartMs, onStart });
  return { program, started: () => new Promise<number>((resolve) => waiters.push(resolve)) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a watched program", () => {
  it("is started again after kill -9, and ends with its watcher's stop", async () => {
    const { program, started } = watch(waiting);
    const first = started();
    program.start();
    const killed = await first;
    const second = started();
    process.kill(killed, "SIGKILL");
    const pid = await second;
    assert.notEqual(pid, killed);
    assert.equal(program.restarts, 1);
    await program.stop();
    assert.equal(isAlive(pid), false);
  });

  it("that ends at once is started again each time, and no more after the stop", async () => {
    const { program, started } = watch("process.exit(3)");
    program.start();
    for (let count = 0; count < 3; count += 1) await started();
    await program.stop();
    const { restarts } = program;
    assert.ok(restarts >= 2);
    program.start();
    assert.equal(program.restarts, restarts);
  });

  it("ends when its watcher is killed", async () => {
    const url = new URL("../../../src/cli/daemon/watched-program.js", import.meta.url).href;
    const script = `import { endWithWatcher } from ${JSON.stringify(url)}; endWithWatcher(process.env); ${waiting}; process.send("up");`;
    const env = { ...process.env, SALTWORKS_WATCHED: "1" };
    const stdio = ["pipe", "inherit", "inherit", "ipc"] as const;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: [...stdio], env });
    await once(child, "message");
    const ended = once(child, "exit");
    child.stdin?.destroy();
    assert.deepEqual(await ended, [null, "SIGTERM"]);
  });
});
