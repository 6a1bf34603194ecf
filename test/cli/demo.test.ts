import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { keys, noTerminal, onTerminal } from "./terminal/on-terminal.ts";

const main = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
const deadlineMs = 120_000;

describe("saltworks demo", () => {
  let temporary: string;
  let demo: ChildProcess;
  let out: string;
  let wake: () => void = () => undefined;
  const start = (...args: string[]): void => {
    out = "";
    demo = spawn(process.execPath, [main, "demo", ...args], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ["ignore", "pipe", "inherit"],
    });
    demo.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      wake();
    });
    demo.once("exit", () => wake());
  };
  const until = async (text: string): Promise<void> => {
    while (!out.includes(text)) {
      const change = new Promise<void>((resolve) => {
        wake = resolve;
      });
      assert.equal(demo.exitCode, null, `the demo ended without "${text}":\n${out}`);
      await change;
    }
  };
  const ended = async (): Promise<number | null> => {
    if (demo.exitCode === null) await once(demo, "exit");
    return demo.exitCode;
  };
  const folder = (): string => /in (\S+saltworks-demo-\S+)/.exec(out)?.[1] ?? "";

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), "sw-"));
  });
  afterEach(async () => {
    demo.kill("SIGKILL");
    await rm(temporary, { recursive: true });
  });

  it("accepts keys, shows three jobs with their command lines, and leaves nothing behind", {
    timeout: deadlineMs,
  }, async () => {
    start("--exit", "--minions", "2");
    assert.equal(await ended(), 0);
    const configDir = join(folder(), "master");
    for (const command of ["key -c DIR -A -y", "salt -c DIR '*' test.ping", "salt -c DIR '*' grains.item os"]) {
      assert.ok(out.includes(`saltworks ${command.replace("DIR", configDir)}\n`), `no command ${command} in:\n${out}`);
    }
    assert.match(out, /^Key for minion web1\.example\.com accepted\.$/m);
    for (const id of ["web1", "web2"]) {
      const value = `^${id}\\.example\\.com:\\n`;
      assert.match(out, new RegExp(`${value} {4}True$`, "m"));
      assert.match(out, new RegExp(`${value} {4}Linux ${release().replaceAll(/[.+]/g, "\\$&")}$`, "m"));
      assert.match(out, new RegExp(`${value} {4}-{10}\\n {4}os:\\n {8}\\S+$`, "m"));
    }
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(processesNaming(folder()), []);
  });

  it("stays up, says what to try, and ends with everything it started on Ctrl-C", { timeout: deadlineMs }, async () => {
    start("--minions", "1");
    await until("Ctrl-C ends everything");
    assert.match(out, /saltworks run -c \S+ manage\.status\n/);
    assert.ok(existsSync(folder()));
    assert.equal(processesNaming(folder()).length, 2);
    demo.kill("SIGINT");
    assert.equal(await ended(), 0);
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(processesNaming(folder()), []);
  });

  for (const [moment, awaited] of [
    ["the start", "Starting a master"],
    ["the jobs", "test.ping"],
  ] as const) {
    it(`ends at once with 130 on Ctrl-C during ${moment}, and says nothing of jobs that did not run`, {
      skip: noTerminal,
    }, async () => {
      const environment = { TMPDIR: temporary };
      // Master and minion are stopped until the key has been typed, so that no job ends before.
      const steps = [[awaited, keys.interrupt, temporary]] as const;
      const result = await onTerminal(["demo", "--exit", "--minions", "1"], steps, environment);
      assert.ok(result.isTyped && result.isOver, result.shown);
      assert.equal(result.exitCode, 130, result.shown);
      assert.doesNotMatch(result.shown, /had no answer|job's jid|lookup_jid|ERROR/);
      assert.deepEqual(readdirSync(temporary), []);
    });
  }

  it("ends with 1 and leaves no files when its master dies during the start", { timeout: deadlineMs / 2 }, async () => {
    start("--minions", "1");
    await until("Starting a master");
    let master: number | undefined;
    while (master === undefined) {
      [master] = processesNaming(join(folder(), "master"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    process.kill(master, "SIGKILL");
    assert.equal(await ended(), 1);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it("goes on without a minion, and ends with an error when its master dies", { timeout: deadlineMs }, async () => {
    start("--minions", "1");
    await until("Ctrl-C ends everything");
    const [minion] = processesNaming(join(folder(), "web1"));
    assert.ok(minion !== undefined);
    process.kill(minion, "SIGTERM");
    while (processesNaming(join(folder(), "web1")).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(demo.exitCode, null);
    const [master] = processesNaming(join(folder(), "master"));
    assert.ok(master !== undefined);
    process.kill(master, "SIGKILL");
    assert.equal(await ended(), 1);
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(processesNaming(folder()), []);
  });
});

/** Processes of this program whose command line names a path. */
function processesNaming(path: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        return readlinkSync(`/proc/${name}/exe`) === process.execPath && words.some((word) => word.startsWith(path));
      } catch (error) {
        // A process may end while it is read.
        if (error instanceof Error) return false;
        throw error;
      }
    })
    .map(Number);
}
