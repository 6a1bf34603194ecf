import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isUsableJid, JobRecords } from "../../../src/minion/functions/job-records.ts";
import type { Value } from "../../../src/wire/values.ts";

const script = 'const { spawn } = require("node:child_process"); const c = spawn("sleep", ["60"]); console.log(c.pid);';

const endTimeoutMs = 20_000;

/** The command line in `ps`; empty for an ended process. */
async function stateOf(pid: number): Promise<string> {
  const state = spawn("ps", ["-o", "stat=", "-p", String(pid)], { stdio: ["ignore", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  state.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(state, "close");
  return Buffer.concat(chunks).toString().trim();
}

describe("JobRecords", () => {
  const directory = mkdtempSync(join(tmpdir(), "sw-records-"));
  const started: ChildProcess[] = [];
  let records: JobRecords;
  before(async () => {
    records = await JobRecords.open(directory);
  });
  after(async () => {
    for (const child of started) child.kill("SIGKILL");
    await rm(directory, { recursive: true, force: true });
  });

  /** A process that looks like one of ours, with a child process. */
  async function startJob(mark = "saltworks-job"): Promise<{ child: ChildProcess; pid: number; childPid: number }> {
    const child = spawn(process.execPath, ["-e", script, mark], { stdio: ["ignore", "pipe", "ignore"] });
    started.push(child);
    const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    return { child, pid: child.pid ?? 0, childPid: Number(chunk.toString()) };
  }

  const load = (jid: string) =>
    new Map<Value, Value>([
      ["fun", "test.sleep"],
      ["arg", [6]],
      ["jid", jid],
    ]);

  it("lists running jobs with their process id first, without the asking process", async () => {
    const { pid } = await startJob();
    await records.write("20260101000000000001", load("20260101000000000001"), pid);
    await records.write("20260101000000000002", load("20260101000000000002"), process.pid);
    const all = await records.running();
    assert.equal(all.length, 2);
    const others = await records.running(process.pid);
    assert.deepEqual(others, [new Map<Value, Value>([["pid", pid], ...load("20260101000000000001")])]);
    await records.remove("20260101000000000002");
    await records.remove("20260101000000000002");
  });

  it("removes records of processes that are gone or not ours, and ignores garbage", async () => {
    const { child, pid } = await startJob();
    await records.write("20260101000000000003", load("20260101000000000003"), pid);
    const stranger = await startJob("nothing");
    await records.write("20260101000000000004", load("20260101000000000004"), stranger.pid);
    writeFileSync(join(directory, "proc", "half"), Buffer.from([0x82, 0xa1]));
    child.kill("SIGKILL");
    await once(child, "exit");
    const jids = (await records.running(process.pid)).map((job) => job.get("jid"));
    assert.ok(!jids.includes("20260101000000000003") && !jids.includes("20260101000000000004"));
    assert.ok(!readdirSync(join(directory, "proc")).some((name) => name.endsWith("3") || name.endsWith("4")));
  });

  it("signals a job's process and its children, with Salt's text", async () => {
    const { child, pid, childPid } = await startJob();
    await records.write("20260101000000000005", load("20260101000000000005"), pid);
    const exited = once(child, "exit");
    const text = await records.signal("20260101000000000005", 9);
    assert.equal(text, `Signal 9 sent to job 20260101000000000005 at pid ${pid}`);
    assert.deepEqual(await exited, [null, "SIGKILL"]);
    // The child was killed with its parent: it has ended, or is a zombie until its parent waits for it.
    const deadlineMs = performance.now() + endTimeoutMs;
    while (!/^(Z.*)?$/.test(await stateOf(childPid))) assert.ok(performance.now() < deadlineMs, "its child runs on");
    assert.equal(await records.signal("20260101999999999999", 9), "");
  });

  it("refuses a job id that could lead out of the directory", async () => {
    for (const jid of ["../x", "a/b", "", ".", "a".repeat(65), 5, undefined]) assert.equal(isUsableJid(jid), false);
    assert.equal(isUsableJid("20260101000000000005_77"), true);
    await assert.rejects(records.write("../x", new Map(), 1), { code: "WIRE_MALFORMED" });
  });
});
