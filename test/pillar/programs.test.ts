/** Commands of external sources that a small process starts: their ends, and what remains when a process dies. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandLauncher } from "../../src/pillar/external/programs/launcher.ts";
import { processEnded } from "./process-end.ts";

const long = { remainingMs: 30_000, timeoutMs: 30_000 };

describe("a process that starts commands", () => {
  let directory: string;
  before(async () => {
    directory = realpathSync(await mkdtemp(join(tmpdir(), "sw-programs-")));
  });
  after(() => rm(directory, { recursive: true }));

  const sh = (script: string, input?: string) =>
    ({ argv: ["/bin/sh", "-c", script], ...(input === undefined ? {} : { input }) }) as const;
  const place = () => ({ cwd: directory, env: { PATH: process.env.PATH, GREETING: "hello" } });

  async function pidsIn(name: string, count: number): Promise<number[]> {
    for (const untilMs = Date.now() + 30_000; ; await sleep(10)) {
      const text = (() => {
        try {
          return readFileSync(join(directory, name), "utf8");
        } catch {
          return "";
        }
      })();
      const pids = text.split("\n").filter(Boolean).map(Number);
      if (pids.length >= count) return pids;
      assert.ok(Date.now() < untilMs, text);
    }
  }

  it("tells what each wrote and how it ended, many at once", async () => {
    const launcher = new CommandLauncher();
    const scripts = Array.from({ length: 20 }, (_, index) =>
      launcher.run(sh(`cat; echo "$GREETING ${index} $PWD"; echo told >&2; exit ${index}`, "in "), place(), long),
    );
    for (const [index, { ending, outcome }] of (await Promise.all(scripts)).entries()) {
      assert.equal(ending, index === 0 ? "ended" : "failed");
      const stdout = `in hello ${index} ${directory}\n`;
      assert.deepEqual(outcome, { stdout, exitCode: index, complaint: "told" });
    }
    const missing = await launcher.run({ argv: ["/no/such/program"] }, place(), long);
    assert.match(JSON.stringify(missing), /the command could not be started: ENOENT/);
  });

  it("ends a command at its deadline, with all of its group", async () => {
    const launcher = new CommandLauncher();
    const command = sh("sleep 600 & echo $! > late; echo $$ >> late; wait");
    const { ending } = await launcher.run(command, place(), { remainingMs: 5_000, timeoutMs: 5_000 });
    assert.equal(ending, "timeout");
    for (const pid of await pidsIn("late", 2)) await processEnded(pid);
  });

  it("is replaced when it was killed; what it ran fails, and is ended", async () => {
    const launcher = new CommandLauncher();
    const running = launcher.run(sh("echo $$ > killed; exec sleep 600"), place(), long);
    const [pid = 0] = await pidsIn("killed", 1);
    // The launcher has recorded the first command when it runs another one.
    await launcher.run(sh(":"), place(), long);
    process.kill(launcher.processId ?? 0, "SIGKILL");
    const { ending, outcome } = await running;
    const fault = "the process that starts commands was lost";
    assert.deepEqual([ending, outcome], ["failed", { fault, isFatal: true }]);
    await processEnded(pid);
    const next = await launcher.run(sh("echo again"), place(), long);
    assert.deepEqual(next.outcome, { stdout: "again\n", exitCode: 0, complaint: "" });
  });

  it("ends with the master that was killed, and so do its commands", async () => {
    const url = import.meta.resolve("../../src/pillar/external/programs/launcher.js");
    const script = `import { CommandLauncher } from ${JSON.stringify(url)};
      const launcher = new CommandLauncher();
      void launcher.run(${JSON.stringify(sh("echo $$ > orphan; exec sleep 600"))}, ${JSON.stringify(place())}, ${JSON.stringify(long)});
      console.log(launcher.processId);`;
    const master = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [told] = (await once(master.stdout, "data")) as [Buffer];
    const pids = [...(await pidsIn("orphan", 1)), Number(told.toString())];
    master.kill("SIGKILL");
    for (const pid of pids) await processEnded(pid);
  });
});
