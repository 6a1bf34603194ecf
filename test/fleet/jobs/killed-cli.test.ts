/** A command that is killed in the middle of a job leaves no subscription, no followed job and no file behind. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Operator } from "../../interop/operator.ts";
import { MasterUnderTest, TestBed } from "../../interop/test-bed.ts";
import { cliFile } from "../our-master.ts";

const pollMs = 200;
const deadlineMs = 60_000;

type Numbers = Readonly<Record<string, number>>;

describe("a command killed in the middle of a job", () => {
  const bed = new TestBed();
  const home = mkdtempSync(join(tmpdir(), "sw-killed-"));
  let master: MasterUnderTest;

  before(async () => {
    master = await MasterUnderTest.create(bed, "ours", { timeout: 2, gather_job_timeout: 2 });
    await master.start();
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    writeFileSync(join(master.pkiDir, "minions", "ghost"), publicKey.export({ type: "spki", format: "pem" }));
    mkdirSync(join(home, "tmp"));
  });
  after(async () => {
    await bed.close();
    rmSync(home, { recursive: true });
  });

  async function counters(): Promise<Numbers> {
    const shown = (await new Operator("ours", master).json("run", ["saltworks.counters"])) as {
      readonly main: Numbers;
    };
    return shown.main;
  }

  async function until(what: string, holds: (numbers: Numbers) => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    for (;;) {
      const numbers = await counters();
      if (holds(numbers)) return;
      assert.ok(performance.now() < endMs, `${what}: ${JSON.stringify(numbers)}`);
      await wait(pollMs);
    }
  }

  function start(words: readonly string[]): ChildProcess {
    const argv = [cliFile, "salt", "-c", master.configDir, ...words, "ghost", "test.ping"];
    const env = { ...process.env, HOME: home, TMPDIR: join(home, "tmp") };
    return spawn(process.execPath, argv, { env, cwd: home, stdio: "ignore" });
  }

  bed.it("leaves no subscription, no followed job and no file, whatever the signal and the options", async () => {
    const before = await counters();
    const followed = (now: Numbers) => (now["jobs.followed"] ?? 0) - (before["jobs.followed"] ?? 0);
    const commands = [["-v"], ["-p"], ["--static"]].map(start);
    const ended = commands.map((command) => new Promise((resolve) => command.once("exit", resolve)));
    await until("all jobs are followed", (now) => followed(now) >= commands.length);
    for (const [index, signal] of (["SIGINT", "SIGKILL", "SIGTERM"] as const).entries()) commands[index]?.kill(signal);
    await Promise.all(ended);
    await until("nobody listens any more", (now) => now["bus.subscribers"] === before["bus.subscribers"]);
    await until("the master follows no job any more", (now) => now["jobs.following"] === before["jobs.following"]);
    assert.deepEqual(readdirSync(home), ["tmp"]);
    assert.deepEqual(readdirSync(join(home, "tmp")), []);
  });
});
