/** Jobs for absent minions: the absent quarter of a fleet comes back in any order, while the master is killed. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { readCounters, startOurMaster, sumOf } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const presentCount = 150;
const absentCount = 50;
const groupSize = 10;
/** The groups of ten in which the absent minions come back, and those after which the master is killed. */
const order = [3, 1, 4, 0, 2];
const killedTurns = [1, 3];
const upTimeoutMs = 180_000;
const jobTimeoutMs = 180_000;
const pollMs = 250;
const twoHoursMs = 7_200_000;

/** Timeouts are short, so that returns of the time without a master come soon after it. */
const behaviour = {
  masterHost: "127.0.0.1",
  returnTimeoutMs: [1_000, 2_000],
  returnTries: 60,
  reconnectMs: [100, 500],
  requestTimeoutMs: 5_000,
  requestTries: 60,
} as const;

type Pending = Readonly<Record<string, { readonly Waiting: number; readonly Minions: readonly string[] }>>;

describe("a job to 200 minions of which 50 are down, kept for two hours", () => {
  let master: MasterProcess;
  const fleets: Fleet[] = [];
  let jid = "";

  async function openGroup(firstIndex: number, minionCount: number): Promise<Fleet> {
    const fleet = await openFleet({ ...behaviour, requestPort: master.requestPort, minionCount, firstIndex });
    fleets.push(fleet);
    await fleet.untilUp(upTimeoutMs);
    return fleet;
  }

  async function run(...words: string[]): Promise<unknown> {
    const args = ["run", "-c", master.configDirectory, ...words, "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, jobTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout || "null");
  }

  const pending = async (): Promise<Pending> => ((await run("jobs.pending")) ?? {}) as Pending;

  async function untilWaiting(countMax: number): Promise<void> {
    const deadlineMs = performance.now() + jobTimeoutMs;
    for (;;) {
      const job = (await pending())[jid];
      if (job === undefined || job.Waiting <= countMax) return;
      if (performance.now() >= deadlineMs) assert.fail(await describeStuck(job));
      await wait(pollMs);
    }
  }

  /** What tells a minion that has the job and cannot return it from one that the master does not ask. */
  async function describeStuck({ Waiting, Minions }: Pending[string]): Promise<string> {
    const client = master.client();
    const { main } = await readCounters(client);
    client.close();
    const counters = [...main].filter(([name, count]) => count > 0 && /^(?:deliveries|presence|publish)/.test(name));
    return [
      `${Waiting} minions still lack the job: ${Minions.join(" ")}`,
      `master: ${counters.map(([name, count]) => `${name} ${count}`).join(", ")}`,
      ...fleets.map((fleet) => `minions from ${fleet.firstIndex}: ${fleet.describe()}`),
      master.logTail(),
    ].join("\n");
  }

  before(async () => {
    // Silent minions are pinged every second or so, because the master has to hear of present ones after a restart.
    master = await startOurMaster(presentCount + absentCount, {
      auto_accept: true,
      presence_timeout: 6,
      gather_job_timeout: 5,
    });
    const absent = await openGroup(presentCount, absentCount);
    await absent.close();
    fleets.length = 0;
    await openGroup(0, presentCount);
  });
  after(async () => {
    for (const fleet of fleets) await fleet.close();
    await master?.remove();
  });

  it("reaches those who are there at once, and is listed with the others", async () => {
    const args = ["salt", "-c", master.configDirectory, "*", "cmd.run", "true", "--deliver-within", "2h", "--async"];
    const { exitCode, stdout, stderr } = await runCli(args, jobTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    const told =
      /^Minions that are away get the job if they come back before (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\n$/m.exec(stderr);
    const untilMs = new Date(told?.[1]?.replace(" ", "T") ?? "").getTime();
    assert.ok(Math.abs(untilMs - Date.now() - twoHoursMs) < jobTimeoutMs, stderr);
    jid = /job ID: (\d{20})/.exec(stdout)?.[1] ?? "";
    await untilWaiting(absentCount);
    const job = (await pending())[jid];
    assert.equal(job?.Waiting, absentCount);
    const absent = Array.from({ length: absentCount }, (_, index) => `sim-${presentCount + index}`);
    assert.deepEqual([...(job?.Minions ?? [])].sort(), absent.sort());
  });

  it("is run once by each of the others as they come back in any order, though the master is killed twice", async () => {
    for (const [turn, group] of order.entries()) {
      await openGroup(presentCount + group * groupSize, groupSize);
      // Right after some have come up: the master asks them or sends to them, or they are about to return.
      if (!killedTurns.includes(turn)) continue;
      await wait(turn * 800);
      await master.kill();
      await master.restart();
    }
    await untilWaiting(0);
    const returned = Object.keys((await run("jobs.lookup_jid", jid)) as object);
    assert.equal(returned.length, presentCount + absentCount);
    assert.deepEqual(await pending(), {}, "nothing waits any more");
  });

  it("was sent again only to minions whose delivery was in flight when the master was killed", async () => {
    const repeated = fleets.map(({ counters }) => counters.jobsRepeated);
    assert.equal(repeated[0], 0, "those who were there got it once");
    // The minions that came up under a master that was not killed.
    for (const turn of order.keys()) {
      const isUndisturbed = !killedTurns.includes(turn) && !killedTurns.includes(turn + 1);
      if (isUndisturbed) assert.equal(repeated[turn + 1], 0, `repeated by group: ${repeated.join(" ")}`);
    }
    const client = master.client();
    const counters = await readCounters(client);
    client.close();
    assert.ok(
      sumOf(counters, /^deliveries\.sent$/) >= groupSize,
      "the group after the last kill was sent to by this master",
    );
  });
});
