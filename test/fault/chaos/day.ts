/**
 * A mixed day under chaos: jobs, returns, mines, pillars, events and authentications, while strangers flood, the master is killed, its disk fills
 * and keys change, drawn from a printed seed. At the end nothing acknowledged is missing, memory is as before, and every honest minion answers.
 */

import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "../../../bench/load/random.ts";
import { memoryOf } from "../../../bench/memory.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { cliFile } from "../../fleet/our-master.ts";
import { runCli } from "../../fleet/run-cli.ts";
import { Disturbances, type Outage } from "./disturbances.ts";
import { Probes, replyTimeoutMs } from "./probes.ts";
import { ChaosSite, type SiteOptions } from "./site.ts";
import { pairs } from "./told.ts";

export type DayOptions = SiteOptions & {
  readonly seconds: number;
  readonly seed: number;
  readonly probes: number;
  readonly probesPerSecond: number;
  readonly jobEveryMs: number;
  readonly tell: (line: string) => void;
};

export type Verdict = { readonly faults: readonly string[]; readonly figures: readonly string[] };

const warmUpMs = 5_000;
const restMs = 10_000;
/** A request that is sent this soon after an outage may stay unanswered, because all minions come back together. */
const recoveryMs = 12_000;
const settleTimeoutMs = 120_000;
const pingTriesMs = 120_000;
/** MiB of own memory that the master may have gained: heaps grow and do not shrink. */
const keptMbMax = 160;
const mebibyte = 1024 * 1024;

class Jobs {
  readonly jids: string[] = [];
  readonly refusals = new Map<string, number>();
  #isStopping = false;
  #loop: Promise<void> = Promise.resolve();

  start(site: ChaosSite, everyMs: number): void {
    this.#loop = this.#publish(site, everyMs);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop;
  }

  async #publish(site: ChaosSite, everyMs: number): Promise<void> {
    while (!this.#isStopping) {
      const client = site.client();
      try {
        const { jid } = await client.publish("sim-*", "cmd.run", ["true"]);
        this.jids.push(jid);
      } catch (error) {
        const why = error instanceof SaltworksError ? error.code : (error as NodeJS.ErrnoException).code;
        if (why === undefined) throw error;
        this.refusals.set(why, (this.refusals.get(why) ?? 0) + 1);
      } finally {
        client.close();
      }
      await delay(everyMs);
    }
  }
}

export async function runChaosDay(options: DayOptions): Promise<Verdict> {
  const { tell } = options;
  const site = await ChaosSite.open(options);
  const faults: string[] = [];
  const figures: string[] = [`seed ${options.seed}`];
  const random = seededRandom(options.seed);
  const probes = new Probes(options.probes, site.master.requestPort);
  const jobs = new Jobs();
  const disturbances = new Disturbances(site, random, tell);
  const endMs = performance.now() + options.seconds * 1_000 + warmUpMs;
  try {
    probes.start(options.probesPerSecond, seededRandom(options.seed + 1));
    jobs.start(site, options.jobEveryMs);
    await delay(warmUpMs);
    const beforeMb = ownMb(site);
    let mostMb = beforeMb;
    while (performance.now() < endMs && site.unexpectedEnd() === undefined) {
      await disturbances.next();
      mostMb = Math.max(mostMb, site.unexpectedEnd() === undefined ? ownMb(site) : 0);
      await delay(random() * 3_000);
    }
    const ended = site.unexpectedEnd();
    if (ended !== undefined) return { faults: [...faults, ended], figures };
    tell("the disturbances are over");
    await jobs.stop();
    await probes.stop();
    faults.push(...disturbances.faults, ...silences(probes, disturbances.outages));
    faults.push(...(await honestMinionsThatDoNotAnswer(site, figures)));
    await delay(restMs);
    const afterMb = ownMb(site);
    if (afterMb > beforeMb + keptMbMax) faults.push(`memory: ${beforeMb} MiB before, ${afterMb} MiB after`);
    figures.push(`memory of its own: ${beforeMb} MiB before, ${mostMb} at most between disturbances, ${afterMb} after`);
    figures.push(...countsOf(disturbances, probes, jobs));
    faults.push(...(await minesLost(probes)));
    faults.push(...(await acknowledgedAndLost(site, probes, jobs, figures)));
    return { faults, figures };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${site.logs()}`, { cause: error });
  } finally {
    await jobs.stop();
    await probes.stop();
    probes.close();
    await site.close();
  }
}

function ownMb(site: ChaosSite): number {
  return Math.round(memoryOf(site.master.program.pid).anonymousBytes / mebibyte);
}

/** Requests without an answer that no outage explains: no outage overlapped with their wait, or ended shortly before they were sent. */
function silences(probes: Probes, outages: readonly Outage[]): string[] {
  return probes.failures
    .filter(({ why }) => why === "silence")
    .flatMap(({ atMs, asked }) => {
      const sentMs = atMs - replyTimeoutMs;
      if (outages.some(({ fromMs, toMs }) => atMs >= fromMs && sentMs <= toMs + recoveryMs)) return [];
      const last = Math.max(0, ...outages.filter(({ toMs }) => toMs < sentMs).map(({ toMs }) => toMs));
      const since = last === 0 ? "without an outage before" : `${Math.round(sentMs - last)} ms after an outage`;
      return [
        `an honest request (${asked}), sent ${Math.round(sentMs)} ms after the start and ${since}, had no answer`,
      ];
    });
}

function countsOf(disturbances: Disturbances, probes: Probes, jobs: Jobs): string[] {
  const sorted = [...probes.latenciesMs].sort((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
  const whys = new Map<string, number>();
  for (const { why } of probes.failures) whys.set(why, (whys.get(why) ?? 0) + 1);
  return [
    `disturbances: ${pairs(disturbances.counts)}; strangers sent ${Math.round(disturbances.floodBytes / mebibyte)} MiB`,
    `honest requests: ${sorted.length} answered, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms; failed: ${pairs(whys)}`,
    `jobs: ${jobs.jids.length} published, not published: ${pairs(jobs.refusals)}`,
  ];
}

/**
 * Stock minions of 3007 and 3008 sometimes stop answering for good when their master goes away
 * (docs/compatibility.md, "Stock minions that stand still"). After a restart they must answer. All other minions must answer without one.
 */
async function honestMinionsThatDoNotAnswer(site: ChaosSite, figures: string[]): Promise<string[]> {
  const silent = await silentMinions(site);
  if (silent.length === 0) return [];
  const before = silent.map((id) => site.lastWords(id));
  const restarted = await site.restartStockMinions(silent);
  figures.push(`stock minions that stood still and were started again: ${restarted}`);
  const still = new Set([...(await silentMinions(site)), ...silent.filter((id) => !restarted.includes(id))]);
  if (still.size > 0)
    figures.push(...before, ...[...still].slice(0, 10).map((id) => `at the end: ${site.lastWords(id)}`));
  return still.size === 0 ? [] : [`${still.size} minions do not answer: ${[...still].slice(0, 10)}`];
}

/** The minions that have not answered after many pings. */
async function silentMinions(site: ChaosSite): Promise<string[]> {
  const wanted = [...site.fleet.ids(), ...site.realIds];
  const deadline = performance.now() + pingTriesMs;
  for (;;) {
    const args = ["salt", "-c", site.master.configDir, "-t", "15", "*", "test.ping", "--out", "json", "--static"];
    const { stdout } = await runCli(args, pingTriesMs);
    const answered = answersIn(stdout);
    const silent = wanted.filter((id) => answered.get(id) !== true);
    if (silent.length === 0 || performance.now() > deadline) return silent;
  }
}

function answersIn(stdout: string): Map<string, unknown> {
  const start = stdout.indexOf("{");
  return start === -1 ? new Map() : new Map(Object.entries(JSON.parse(stdout.slice(start)) as object));
}

async function minesLost(probes: Probes): Promise<string[]> {
  const lost: string[] = [];
  for (const probe of probes.all) {
    const kept = await probe.minedCount();
    if (!(kept >= probe.mineAcknowledged))
      lost.push(`the mine of ${probe.id} has ${kept}, ${probe.mineAcknowledged} was acknowledged`);
  }
  return lost;
}

/** Stops the master with TERM and compares its stores with the acknowledgements that minions got. */
async function acknowledgedAndLost(site: ChaosSite, probes: Probes, jobs: Jobs, figures: string[]): Promise<string[]> {
  const faults: string[] = [];
  const { returnsLost } = await site.fleet.until(
    "every return acknowledged",
    ({ returnsAcknowledged, returnsLost, jobsMatched }) => returnsAcknowledged + returnsLost >= jobsMatched,
    settleTimeoutMs,
  );
  if (returnsLost > 0) faults.push(`${returnsLost} returns were given up by their minions`);
  await site.endMaster("TERM");
  const path = `${site.cacheDirectory}/jobs.lmdb`;
  const cache = openLmdbJobCache({ path, shards: 2, durability: "fsync", isReadOnly: true });
  let acknowledged = 0;
  try {
    for (const jid of jobs.jids) {
      const ids = await site.fleet.acknowledged(jid);
      acknowledged += ids.size;
      const stored = new Set((await returnsIn(cache, jid)).map(({ minionId }) => minionId));
      const lost = [...ids].filter((id) => !stored.has(id));
      if (lost.length > 0)
        faults.push(`job ${jid}: ${lost.length} of ${ids.size} acknowledged returns are lost: ${lost.slice(0, 5)}`);
    }
    for (const { id, acknowledged: jids } of probes.all) {
      acknowledged += jids.length;
      const bodies = await Promise.all(jids.map((jid) => cache.returnOf(jid, id)));
      const lost = jids.filter((_, at) => bodies[at] === undefined);
      if (lost.length > 0)
        faults.push(`${lost.length} of ${jids.length} acknowledged returns of ${id} are lost: ${lost.slice(0, 5)}`);
    }
  } finally {
    await cache.close();
  }
  figures.push(`returns acknowledged and looked for: ${acknowledged}`);
  const check = spawnSync(process.execPath, [cliFile, "check-store", "-c", site.master.configDir], {
    encoding: "utf8",
  });
  if (check.status !== 0) faults.push(`check-store ends with ${check.status}: ${check.stdout}${check.stderr}`);
  return faults;
}
