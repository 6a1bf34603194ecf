/** Question: what does a fleet lose, and for how long, when one of three members is killed with its server in a storm of returns? */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import { type BenchCluster, killMachine, startCluster } from "../members/cluster.ts";
import { say } from "../peers/program.ts";
import { ourStored } from "../scenarios/measures/accounting.ts";
import { addressesOf, ignoreTimeout, openMinions, Waits } from "./fleet.ts";
import type { MovingMinion } from "./moving-minion.ts";
import { membersCount, runClusterBench } from "./program.ts";

/** The member that is killed. The operator is at the first. */
const lost = 2;
/** It is killed when at least this share of the returns is acknowledged, and all minions have heard of their jobs. */
const killShare = 0.3;
const limitMs = 180_000;
const publishAgainMs = 100;
const jobEveryMs = 1_000;

/** Acknowledged returns by job. The master's presence pings are among them. */
class Acknowledged {
  readonly waits = new Waits();
  readonly #byJob = new Map<string, Map<string, number>>();
  readonly note = ({ id }: MovingMinion, jid: string): void => {
    const minions = this.#byJob.get(jid) ?? new Map<string, number>();
    this.#byJob.set(jid, minions.set(id, performance.now()));
    this.waits.note();
  };

  of(jid: string): ReadonlyMap<string, number> {
    return this.#byJob.get(jid) ?? new Map();
  }
}

/** @returns the job, and how long after `sinceMs` it was published */
async function publishUntilTaken(cluster: BenchCluster, sinceMs: number): Promise<{ jid: string; afterMs: number }> {
  const client = cluster.members[0]?.process.client();
  if (client === undefined) throw new RangeError("no members");
  try {
    for (;;) {
      try {
        const { jid } = await client.publish("*", "test.ping");
        return { jid, afterMs: performance.now() - sinceMs };
      } catch (error) {
        if (!(error instanceof SaltworksError) || performance.now() - sinceMs > limitMs) throw error;
      }
      await pause(publishAgainMs);
    }
  } finally {
    client.close();
  }
}

/** Acknowledged returns that a survivor lacks, after all members had time to read the streams. */
async function missingOn(cluster: BenchCluster, acknowledged: Acknowledged, jids: readonly string[]) {
  const survivors = cluster.members.filter((_, at) => at !== lost);
  return await Promise.all(
    survivors.map(async ({ process: { cacheDirectory } }) => {
      const stored = ourStored({ cacheDirectory });
      let missing = 0;
      try {
        for (const jid of jids) {
          const minions = await stored.of(jid);
          missing += [...acknowledged.of(jid).keys()].filter((id) => !minions.has(id)).length;
        }
      } finally {
        await stored.close();
      }
      return missing;
    }),
  );
}

async function measure(cluster: BenchCluster, count: number, jobs: number) {
  const acknowledged = new Acknowledged();
  const members = addressesOf(cluster.members.map((member) => member.process));
  const memberOf = (minion: number) => minion % members.length;
  say("minions sign in");
  const minions = await openMinions({ count, members, memberOf, onAcknowledged: acknowledged.note });
  const moving = minions.filter((_, index) => memberOf(index) === lost);
  const victim = cluster.members[lost];
  if (victim === undefined) throw new RangeError("no such member");
  try {
    const jids: string[] = [];
    for (let job = 0; job < jobs; job += 1) jids.push((await publishUntilTaken(cluster, performance.now())).jid);
    const killAt = Math.floor(count * jobs * killShare);
    // A minion that has not heard of a job when its member dies will not hear of it elsewhere, as with Salt's masters.
    const isHeard = () => minions.every(({ heard }) => jids.every((jid) => heard.has(jid)));
    const isDue = () => sumOf(jids, acknowledged) >= killAt && isHeard();
    await acknowledged.waits.until("a part of the returns", isDue, limitMs);
    say("kills a member");
    const killedMs = performance.now();
    const acknowledgedBefore = sumOf(jids, acknowledged);
    await killMachine(victim);
    const { jid, afterMs } = await publishUntilTaken(cluster, killedMs);
    say(`published again after ${Math.round(afterMs)} ms`);
    const whole = jids.length * count;
    const isAll = () => sumOf(jids, acknowledged) >= whole;
    const all = acknowledged.waits.until("all returns", isAll, limitMs);
    const later = [jid, ...(await publishUntilAnswered(cluster, acknowledged, moving))];
    await all;
    const missing = await untilRead(cluster, acknowledged, [...jids, ...later]);
    const waits = moving.map(({ id, movedMs = Number.NaN }) => {
      const firstMs = Math.min(...later.flatMap((job) => acknowledged.of(job).get(id) ?? []));
      return { movedMs: movedMs - killedMs, answeredMs: firstMs - killedMs };
    });
    return {
      expected: whole,
      acknowledged: sumOf(jids, acknowledged),
      acknowledgedBefore,
      laterJobs: later.length,
      acknowledgedOfLaterJobs: sumOf(later, acknowledged),
      missingOnSurvivors: missing,
      publishedAgainAfterMs: Math.round(afterMs),
      movedMinions: waits.length,
      lastMovedAfterMs: Math.round(Math.max(...waits.map(({ movedMs }) => movedMs))),
      lastMovedAnsweredAfterMs: Math.round(Math.max(...waits.map(({ answeredMs }) => answeredMs))),
    };
  } finally {
    for (const minion of minions) minion.close();
  }
}

/** A job a second, until each minion of the dead member has answered one. A job that is published while a minion moves passes it by, as Salt's do. */
async function publishUntilAnswered(
  cluster: BenchCluster,
  acknowledged: Acknowledged,
  moving: readonly MovingMinion[],
): Promise<string[]> {
  const jids: string[] = [];
  const endMs = performance.now() + limitMs;
  const isAnswered = () => moving.every(({ id }) => jids.some((jid) => acknowledged.of(jid).has(id)));
  while (!isAnswered()) {
    if (performance.now() > endMs) throw new SaltworksError("TASK_TIMEOUT", "minions of the dead member do not answer");
    jids.push((await publishUntilTaken(cluster, performance.now())).jid);
    await acknowledged.waits.until("an answer of each", isAnswered, jobEveryMs).catch(ignoreTimeout);
  }
  return jids;
}

function sumOf(jids: readonly string[], acknowledged: Acknowledged): number {
  return jids.reduce((sum, jid) => sum + acknowledged.of(jid).size, 0);
}

/** A survivor may lag behind by some batches. */
async function untilRead(cluster: BenchCluster, acknowledged: Acknowledged, jids: readonly string[]) {
  const endMs = performance.now() + 20_000;
  for (;;) {
    const missing = await missingOn(cluster, acknowledged, jids);
    if (missing.every((count) => count === 0) || performance.now() > endMs) return missing;
    await pause(1_000);
  }
}

await runClusterBench(
  "lost-member",
  {
    minions: { text: "spread evenly over three members", usual: 3_000 },
    jobs: { text: "jobs to all before the member is killed", usual: 4 },
  },
  async ({ minions, jobs, workers }) => {
    const cluster = await startCluster(membersCount, { auto_accept: true, worker_threads: workers });
    try {
      return { natsServer: cluster.natsServerVersion, ...(await measure(cluster, minions, jobs)) };
    } finally {
      await cluster.remove();
    }
  },
);
