/** Batch jobs and waiting jobs of three masters as one cluster, whose owner dies, stops, or stands still. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { jobLeaseMarginMs, jobLeaseMs } from "../../../src/limits.ts";
import { batchDirectory, readBatchEntries } from "../../../src/store/jobs/batch-log.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { runCli } from "../run-cli.ts";
import {
  createKey,
  joinsOf,
  killMachine,
  memberAt,
  memberConfigs,
  startMembers,
  untilAnswer,
  untilSo,
} from "./members.ts";
import { JobGate, RunningMinion } from "./running-minion.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;
const jobMs = 1_000;
const places = [0, 1, 2] as const;
const ids = ["web1", "web2", "web3", "web4", "web5", "web6", "late1", "late2"];

type Listed = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

describe("owners of a cluster's jobs", { skip, timeout: 900_000 }, () => {
  const minionKeys = new Map(ids.map((id) => [id, createKey()]));
  let members: MasterProcess[] = [];
  const minions: RunningMinion[] = [];
  const gate = new JobGate();
  const work = async () => {
    await pause(jobMs);
    await gate.pass();
  };

  const member = (at: number) => memberAt(members, at);
  const log = (at: number) => readFileSync(`${member(at).directory}/output`, "utf8");
  const resumedCount = () =>
    places.reduce<number>((sum, at) => sum + log(at).split("a batch job is resumed").length - 1, 0);
  const joins = (at: number) => joinsOf(member(at));
  const salt = async (at: number, ...args: readonly string[]): Promise<string> => {
    const { stdout, stderr, exitCode } = await runCli(
      ["salt", "-c", member(at).configDirectory, "--async", ...args],
      cliTimeoutMs,
    );
    assert.equal(exitCode, 0, stderr);
    return /\b\d{20}\b/.exec(stdout)?.[0] ?? assert.fail(stdout);
  };
  const run = async (at: number, ...args: readonly string[]) => {
    const { stdout, stderr } = await runCli(
      ["run", "-c", member(at).configDirectory, "--out", "json", ...args],
      cliTimeoutMs,
    );
    assert.notEqual(stdout, "", stderr);
    return JSON.parse(stdout) as unknown;
  };
  /** As `saltworks top` shows them at a member. */
  const owners = async (at: number) => {
    const { stdout, stderr } = await runCli(["top", "-c", member(at).configDirectory, "--json"], cliTimeoutMs);
    assert.notEqual(stdout, "", stderr);
    const { cluster } = JSON.parse(stdout) as { cluster: { owners: readonly Readonly<Record<string, unknown>>[] } };
    return [...cluster.owners].sort((left, right) => String(left.member).localeCompare(String(right.member)));
  };
  /** As \`saltworks cluster status\` shows them on a member's machine. */
  const ownersOfStatus = async (at: number) => {
    const { stdout, stderr } = await runCli(
      ["cluster", "status", "--json", "-c", member(at).configDirectory],
      cliTimeoutMs,
    );
    assert.notEqual(stdout, "", stderr);
    return (JSON.parse(stdout) as { owners: unknown }).owners;
  };
  const pending = async (at: number) => (await run(at, "jobs.pending")) as Listed;
  const batch = async (at: number, jid: string) => ((await run(at, "jobs.batches")) as Listed)[jid];
  const open = async (id: string, at: number) => {
    const minion = await RunningMinion.open(id, minionKeys.get(id) ?? assert.fail(id), member(at), work);
    minions.push(minion);
    return minion;
  };
  const webs = (...at: readonly number[]) =>
    Promise.all(ids.slice(0, 6).map((id, index) => open(id, at[index % at.length] ?? 0)));
  const restart = async (at: number) => {
    const count = joins(at);
    await member(at).restart();
    await untilSo("it joins again", () => joins(at) > count);
  };
  const begunCount = () => minions.filter(({ ran }) => ran.length > 0).length;
  /** The owner's lease may be about to end at its last moment. The others wait for the margin at least. */
  const assertMargin = (lastMs: number) => {
    const afterMs = performance.now() - lastMs;
    assert.ok(afterMs > jobLeaseMarginMs, `after ${afterMs} ms`);
  };
  /** Every minion has run one step, and the members' logs of the batch job are the same. */
  const checkBatch = async (jid: string, at: readonly number[]) => {
    for (const one of at) {
      const isOver = (shown: Listed[string] | undefined) => shown?.State === "finished";
      const shown = await untilAnswer(`member ${one} shows the end`, () => batch(one, jid), isOver);
      const { Minions, Returned, Failed, Silent, Queued } = shown ?? {};
      assert.deepEqual([Minions, Returned, Failed, Silent, Queued], [6, 6, 0, 0, 0]);
      const results = (await run(one, "jobs.lookup_jid", jid)) as object;
      assert.deepEqual(Object.keys(results).sort(), ids.slice(0, 6));
    }
    for (const { id, ran } of minions) assert.equal(ran.length, 1, `${id} ran ${ran}`);
    const logs = at.map((one) =>
      readBatchEntries(batchDirectory(member(one).cacheDirectory), jid, 0, Number.MAX_SAFE_INTEGER),
    );
    for (const other of logs.slice(1)) assert.deepEqual(other, logs[0]);
  };

  before(async () => {
    members = await startMembers(await memberConfigs(3, { gather_job_timeout: 3 }));
    await Promise.all(places.map((at) => untilSo(`member ${at} joins`, () => joins(at) >= 1)));
    for (const [id, { publicPem }] of minionKeys) writeFileSync(join(member(0).pkiDirectory, "minions", id), publicPem);
    await untilSo("all have the keys", () =>
      places.every((at) => ids.every((id) => existsSync(join(member(at).pkiDirectory, "minions", id)))),
    );
  });
  afterEach(() => {
    gate.release();
    for (const minion of minions.splice(0)) minion.close();
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
  });

  it("show the same waiting job on each member, which any of them withdraws", async () => {
    const jid = await salt(0, "--deliver-within", "1h", "late1", "cmd.run", "true");
    for (const at of places)
      await untilSo(`member ${at} lists it`, async () => (await pending(at))[jid]?.Waiting === 1);
    const seen = await Promise.all(places.map(owners));
    assert.deepEqual(
      seen[0]?.map(({ holdsLease }) => holdsLease),
      [true, true, true],
    );
    assert.deepEqual(seen[0]?.map(({ waitingJobs }) => waitingJobs).sort(), [0, 0, 1]);
    for (const other of seen) assert.deepEqual(other, seen[0]);
    assert.deepEqual(await ownersOfStatus(1), seen[0]);
    assert.match(JSON.stringify(await run(1, "jobs.cancel", jid)), /late1/);
    for (const at of places) await untilSo(`member ${at} lists none`, async () => !(jid in (await pending(at))));
  });

  it("send a waiting job to a minion that comes to another member", async () => {
    const jid = await salt(0, "--deliver-within", "1h", "late1", "cmd.run", "true");
    const late = await open("late1", 2);
    await untilSo("it runs the job", () => late.ran.includes(jid));
    for (const at of places) await untilSo(`member ${at} lists none`, async () => !(jid in (await pending(at))));
    assert.deepEqual(late.ran, [jid]);
  });

  it("go on with a waiting job when the machine of its owner is lost", async () => {
    const jid = await salt(0, "--deliver-within", "1h", "late*", "cmd.run", "true");
    await untilSo("another member has it", async () => (await pending(1))[jid]?.Waiting === 2);
    await killMachine(member(0));
    const late = [await open("late1", 1), await open("late2", 2)];
    await untilSo("they run the job", () => late.every(({ ran }) => ran.includes(jid)), 120_000);
    for (const at of [1, 2]) {
      await untilSo(`member ${at} has the returns`, async () => {
        const found = (await run(at, "jobs.lookup_jid", jid)) as object;
        return "late1" in found && "late2" in found;
      });
      await untilSo(`member ${at} lists none`, async () => !(jid in (await pending(at))));
    }
    for (const { ran } of late) assert.deepEqual(ran, [jid]);
    await restart(0);
    await untilSo("it lists none", async () => !(jid in (await pending(0))));
  });

  it("go on with a batch job when the machine of its owner is lost", async () => {
    await webs(1, 2);
    gate.hold(1);
    const jid = await salt(0, "-b", "1", "web*", "cmd.run", "true");
    await untilSo("two minions run it", () => begunCount() >= 2);
    await untilSo("another member shows it", async () => (await batch(1, jid))?.State === "running");
    const count = resumedCount();
    const killMs = performance.now();
    await killMachine(member(0));
    gate.release();
    await untilSo("another goes on", () => resumedCount() > count);
    assertMargin(killMs);
    await checkBatch(jid, [1, 2]);
    await restart(0);
    await checkBatch(jid, places);
  });

  it("pause and resume a batch job for any member", async () => {
    await webs(0, 2);
    gate.hold();
    const jid = await salt(0, "-b", "1", "web*", "cmd.run", "true");
    await untilSo("a minion runs it", () => begunCount() >= 1);
    assert.match(String(await run(1, "jobs.pause", jid)), /is paused/);
    gate.release();
    for (const at of places) await untilSo(`member ${at}`, async () => (await batch(at, jid))?.State === "paused");
    assert.match(String(await run(2, "jobs.resume", jid)), /is resumed/);
    await checkBatch(jid, places);
  });

  it("hand a batch job over at once when they stop in order", async () => {
    await webs(0, 2);
    gate.hold();
    const jid = await salt(1, "-b", "1", "web*", "cmd.run", "true");
    await untilSo("a minion runs it", () => begunCount() >= 1);
    const count = resumedCount();
    const stopMs = performance.now();
    const stopped = member(1).stop();
    await untilSo("another goes on", () => resumedCount() > count);
    const afterMs = performance.now() - stopMs;
    gate.release();
    // An owner that dies without a word is replaced after its lease only.
    assert.ok(afterMs < jobLeaseMs, `after ${afterMs} ms`);
    await stopped;
    await checkBatch(jid, [0, 2]);
    await restart(1);
    await checkBatch(jid, places);
  });

  it("do not act any more after they stood still for longer than their lease", async () => {
    await webs(1, 2);
    const jid = await salt(0, "-b", "1", "--batch-wait", "1", "web*", "cmd.run", "true");
    await untilSo("two minions run it", () => begunCount() >= 2);
    process.kill(member(0).processId, "SIGSTOP");
    const stoppedMs = performance.now();
    try {
      await untilSo("another goes on", () => begunCount() >= 4, 120_000);
      assertMargin(stoppedMs);
    } finally {
      process.kill(member(0).processId, "SIGCONT");
    }
    await checkBatch(jid, places);
    assert.match(log(0), /lease has ended/);
  });

  it("stop without a majority, and go on after it", async () => {
    await webs(0);
    gate.hold();
    const jid = await salt(0, "-b", "1", "web*", "cmd.run", "true");
    await untilSo("a minion runs it", () => begunCount() >= 1);
    const count = log(0).split("lease has ended").length;
    await Promise.all([killMachine(member(1)), killMachine(member(2))]);
    gate.release();
    await untilSo("its lease ends", () => log(0).split("lease has ended").length > count, 60_000);
    const ranCount = begunCount();
    assert.ok(ranCount < 6);
    await Promise.all([restart(1), restart(2)]);
    await checkBatch(jid, places);
  });
});
