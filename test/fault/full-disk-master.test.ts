/**
 * A whole master whose disk fills in a storm of returns: it does not crash, callers get the disk's error, runners answer. With room again it
 * continues and has all that it acknowledged. Core dumps are on. One round; SALTWORKS_FAULT_ROUNDS=50 runs more (`npm run test:soak`).
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import { type Fleet, openFleet } from "../../bench/fleet/fleet.ts";
import type { LocalClient } from "../../bench/local-client.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import { hasCode } from "../../src/errors.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { cliFile } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { mountSmallDisk, type SmallDisk, smallDiskSkip } from "./small-disk.ts";

const rounds = Number(process.env.SALTWORKS_FAULT_ROUNDS ?? 1);
const megabytes = 64;
const minionCount = 100;
/** Free megabytes when the storm begins, two logs of 4 MiB included: few, so that a round takes seconds. */
const freeMegabytes = 14;
/** The disk counts as full after this number of refused growths. */
const refusedGrowthWanted = 20;
const upTimeoutMs = 120_000;
const fullTimeoutMs = 120_000;
const againTimeoutMs = 60_000;
/** A runner answers at once; the rest of the timeout is for a busy machine. */
const answerMs = 90_000;
const jobsUnderWay = 4;
const waitingMax = 2_000;
const pauseMs = 50;
/** Between publishes to a disk that is full, while too many returns wait. */
const fullPauseMs = 1_000;

/** The master, with core dumps, in a separate directory. */
function startMaster(disk: SmallDisk): Promise<MasterProcess> {
  return MasterProcess.start({
    command: ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", process.execPath, cliFile, "master"],
    config: {
      log_level: "warning",
      worker_threads: 2,
      auto_accept: true,
      root_dir: "/",
      cachedir: join(disk.path, "cache"),
    },
    descriptors: descriptorsForMaster(minionCount),
  });
}

function freeBytes(disk: SmallDisk): number {
  const { bavail, bsize } = statfsSync(disk.path);
  return bavail * bsize;
}

/** Writes a file of this name until `megabytesLeft` are free. */
function ballast(disk: SmallDisk, megabytesLeft: number, name = "ballast"): string {
  const path = join(disk.path, name);
  const count = String(Math.max(0, Math.floor(freeBytes(disk) / 4_096) - (megabytesLeft * 1024 * 1024) / 4_096));
  spawnSync("dd", ["if=/dev/zero", `of=${path}`, "bs=4k", `count=${count}`], { stdio: "ignore" });
  return path;
}

class Round {
  readonly jids: string[] = [];
  /** The messages of publishes that the master refused. */
  refused = 0;
  readonly #client: LocalClient;
  readonly #master: MasterProcess;
  readonly #fleet: Fleet;

  constructor(master: MasterProcess, fleet: Fleet) {
    this.#master = master;
    this.#fleet = fleet;
    this.#client = master.client();
  }

  close(): void {
    this.#client.close();
  }

  async metric(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
    const rows = (await this.#client.wheel("saltworks.metrics")) as [string, ValueMap, number][];
    const isWanted = ([key, found]: [string, ValueMap, number]) =>
      key === name && Object.entries(labels).every(([label, value]) => found.get(label) === value);
    return rows.filter(isWanted).reduce((sum, [, , value]) => sum + value, 0);
  }

  async publish(): Promise<void> {
    try {
      const { jid } = await this.#client.publish("*", "cmd.run", ["true"]);
      this.jids.push(jid);
    } catch (error) {
      if (!hasCode(error, "REQUEST_REFUSED")) throw error;
      this.refused += 1;
    }
  }

  /** Publishes continue while the disk is full: minions repeat returns that were not acknowledged. */
  async stormUntilFull(): Promise<void> {
    const deadlineMs = performance.now() + fullTimeoutMs;
    while ((await this.refusedGrowth()) < refusedGrowthWanted) {
      assert.ok(performance.now() < deadlineMs, "the disk did not fill");
      if (this.isTooMuchWaiting) await delay(pauseMs);
      else await Promise.all(Array.from({ length: jobsUnderWay }, () => this.publish()));
    }
  }

  /** Room that LMDB's files have ahead is used up, too. `fill`: takes the room that a failed new log gives back to the disk. */
  async publishUntilRefused(fill: () => void): Promise<void> {
    const deadlineMs = performance.now() + fullTimeoutMs;
    const before = this.refused;
    while (this.refused === before) {
      assert.ok(performance.now() < deadlineMs, "no publish was refused");
      fill();
      // No return may be stored any more, so what waits may never get less.
      if (this.isTooMuchWaiting) await delay(fullPauseMs);
      await this.publish();
    }
  }

  /** Room for the waiting data when the ballast is removed. */
  get isTooMuchWaiting(): boolean {
    const { returnsAcknowledged, returnsLost } = this.#fleet.counters;
    // Counted from the publishes: on a busy machine minions match jobs late, and hundreds of jobs would have been published by then.
    return this.jids.length * minionCount - returnsAcknowledged - returnsLost > waitingMax;
  }

  refusedGrowth(): Promise<number> {
    return this.metric("saltworks_disk_faults_total", { kind: "full" });
  }

  async answerOf(...words: string[]): Promise<string> {
    const startedMs = performance.now();
    const answer = await runCli(["run", "-c", this.#master.configDirectory, ...words], answerMs);
    assert.ok(performance.now() - startedMs < answerMs);
    return `${answer.exitCode} ${answer.stdout}${answer.stderr}`;
  }

  /** `saltworks.returns`, with which our command line asks for missed returns. */
  async returnsOf(jid: string): Promise<ValueMap> {
    const ids = this.#fleet.ids();
    const found: Value = await this.#client.wheel("saltworks.returns", { jid, ids });
    assert.ok(found instanceof Map, String(found));
    return found;
  }
}

async function run(context: TestContext): Promise<void> {
  const disk = mountSmallDisk(megabytes);
  assert.ok(disk, "only root can mount a small disk");
  let master: MasterProcess | undefined;
  let fleet: Fleet | undefined;
  try {
    master = await startMaster(disk);
    fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: master.requestPort,
      minionCount,
      returnBytes: [200, 200],
      returnTimeoutMs: [3_000, 6_000],
      returnTries: 60,
      isRecordingAcks: true,
    });
    await fleet.untilUp(upTimeoutMs);
    const round = new Round(master, fleet);
    const taken = [ballast(disk, freeMegabytes)];
    await round.stormUntilFull();
    await round.publishUntilRefused(() => void taken.push(ballast(disk, 0, `rest${taken.length}`)));
    await whileFull(round, master, context);
    for (const path of taken) rmSync(path, { force: true });
    context.diagnostic(`${Math.round(freeBytes(disk) / 1024 / 1024)} MiB free again`);
    await afterwards(round, fleet, context);
    round.close();
    assert.equal(await master.stop(), 0, "the master ended in good order");
  } finally {
    await fleet?.close();
    await master?.remove();
    disk.remove();
  }
}

async function whileFull(round: Round, master: MasterProcess, context: TestContext): Promise<void> {
  const told = await runCli(["salt", "-c", master.configDirectory, "*", "test.ping"], answerMs);
  assert.match(told.stdout + told.stderr, /no space left on device/i, "the caller hears of the full disk");
  const jid = round.jids.at(-1) ?? "";
  const startedMs = performance.now();
  const found = await round.returnsOf(jid);
  const returnsMs = performance.now() - startedMs;
  const listed = await round.answerOf("jobs.list_jobs", "--out=json");
  assert.match(listed, new RegExp(`^0 .*${round.jids[0]}`, "s"));
  assert.match(await round.answerOf("jobs.lookup_jid", round.jids[0] ?? "", "--out=json"), /^0 .*"sim-0"/s);
  assert.match(await round.answerOf("manage.present", "--out=json"), /^0 .*"sim-0"/s);
  assert.match(await round.answerOf("manage.up"), /no space left on device/i, "it has to publish a job");
  const runnersMs = performance.now() - startedMs - returnsMs;
  const refused = await round.refusedGrowth();
  context.diagnostic(
    `full: ${round.jids.length} jobs, ${round.refused} publishes refused, ${refused} times no room; returns (${found.size}) ${returnsMs.toFixed(0)} ms, four runners ${runnersMs.toFixed(0)} ms`,
  );
}

async function afterwards(round: Round, fleet: Fleet, context: TestContext): Promise<void> {
  const before = round.jids.length;
  const deadlineMs = performance.now() + againTimeoutMs;
  while (round.jids.length === before) {
    assert.ok(performance.now() < deadlineMs, "the master takes no job although there is room");
    await round.publish();
    await delay(pauseMs);
  }
  await fleet.untilSettled(againTimeoutMs);
  let acknowledged = 0;
  for (const jid of round.jids) {
    const ids = await fleet.acknowledged(jid);
    acknowledged += ids.size;
    const stored = await round.returnsOf(jid);
    assert.deepEqual(
      [...ids].filter((id) => !stored.has(id)),
      [],
      `job ${jid} lost returns`,
    );
  }
  assert.equal((await fleet.acknowledged(round.jids.at(-1) ?? "")).size, minionCount, "the last job is whole");
  context.diagnostic(`${acknowledged} returns acknowledged, none lost; ${fleet.counters.returnsLost} given up`);
}

describe("a master whose disk fills in a storm of returns", { skip: smallDiskSkip() }, () => {
  for (let round = 1; round <= rounds; round += 1) {
    it(`lives, says so, answers, and goes on with room, round ${round}`, run);
  }
});
