import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { pino } from "pino";
import { boundedInMemory, endingWithParent, WatchedProgram } from "../../../src/cli/daemon/watched-program.ts";

const log = pino({ level: "silent" });
const restartMs = { first: 1, longest: 4 };
const waiting = "setInterval(() => {}, 1000)";

/** Watches a Node program; `started` resolves with the process id of its next start. */
function watch(script: string, hasOwnSession = false) {
  const waiters: ((pid: number) => void)[] = [];
  const onStart = (pid: number) => waiters.shift()?.(pid);
  const args = ["-e", script];
  const command = process.execPath;
  const program = new WatchedProgram({ name: "a program", command, args, log, restartMs, onStart, hasOwnSession });
  return { program, started: () => new Promise<number>((resolve) => waiters.push(resolve)) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Field 6 of stat, behind the program's name. */
function sessionOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];
}

const setprivSkip =
  spawnSync("setpriv", ["--pdeathsig", "TERM", "true"]).status === 0 ? false : "setpriv has no --pdeathsig";

const prlimitSkip = spawnSync("prlimit", ["--data=1000000000", "true"]).status === 0 ? false : "no prlimit";

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

  it("is in its watcher's session, which a terminal signals, unless it has its own", async () => {
    for (const hasOwnSession of [false, true]) {
      const { program, started } = watch(waiting, hasOwnSession);
      const start = started();
      program.start();
      const pid = await start;
      assert.equal(sessionOf(pid) === sessionOf(process.pid), !hasOwnSession);
      await program.stop();
    }
  });

  it("that is not ours gets TERM when its watcher is killed", { skip: setprivSkip, timeout: 30_000 }, async () => {
    const { command, args } = await endingWithParent(process.execPath, ["-e", waiting]);
    const script = `const { pid } = require("node:child_process").spawn(${JSON.stringify(command)}, ${JSON.stringify(args)},
      { stdio: ["ignore", "inherit", "ignore"], detached: true }); process.send(pid); ${waiting}`;
    const watcher = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    const [pid] = (await once(watcher, "message")) as [number];
    assert.ok(isAlive(pid));
    watcher.kill("SIGKILL");
    // The program holds the other end of the pipe as long as it lives. A process id stays until process 1 has looked.
    watcher.stdout?.resume();
    await once(watcher, "close");
  });

  it("that is not ours ends when it asks for more memory than it may have", { skip: prlimitSkip }, async () => {
    const grow = "const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1));";
    const program = { command: process.execPath, args: ["-e", grow] };
    const { command, args } = (await boundedInMemory(program, 1_000_000_000)) ?? assert.fail("no prlimit");
    const child = spawn(command, [...args], { stdio: "ignore" });
    const [code, signal] = await once(child, "exit");
    assert.notEqual(code, 0);
    assert.notEqual(signal, "SIGKILL", "not by the kernel, which had no memory left");
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
