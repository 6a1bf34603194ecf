/** What must hold after all faults have ended: what one member acknowledged is on every member, and no minion was given a job twice. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import type { FaultLoad } from "./load.ts";
import type { MovingMinion } from "./minions/minion.ts";
import type { FaultMember, FaultSite } from "./site.ts";

const settleMs = 120_000;
const pollMs = 1_000;
const namedMax = 5;

export type CheckedRun = { readonly faults: string[]; readonly figures: string[] };

/** Waits until `look` finds nothing. @returns what it found last */
export async function untilNone(look: () => Promise<string[]> | string[], limitMs = settleMs): Promise<string[]> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found.length === 0 || performance.now() > endMs) return found;
    await delay(pollMs);
  }
}

export async function check(site: FaultSite, load: FaultLoad, minions: readonly MovingMinion[]): Promise<CheckedRun> {
  const published = await Promise.all(site.members.map((_, at) => untilNone(() => refusalsOf(site, load, at))));
  const unreturned = await untilNone(() =>
    minions.filter(({ jobs }) => jobs.unfinished > 0).map(({ id }) => `${id} has returns without an answer`),
  );
  const missing = await untilNone(async () =>
    (await Promise.all(site.members.map((member) => missingOn(member, load, minions)))).flat(),
  );
  const keys = await untilNone(() => wrongKeys(site, load));
  const acknowledged = minions.reduce((sum, one) => sum + one.jobs.acknowledged.size, 0);
  const faults = [
    ...published.flat(),
    ...unreturned,
    ...missing,
    ...keys,
    ...minions.flatMap((one) => [...one.faults, ...one.jobs.faults]),
  ];
  return { faults, figures: [`returns acknowledged and looked for on each member: ${acknowledged}`] };
}

async function refusalsOf(site: FaultSite, load: FaultLoad, at: number): Promise<string[]> {
  try {
    await load.publish(at);
    return [];
  } catch (error) {
    return [`${site.member(at).name} does not publish: ${(error as Error).message}`];
  }
}

async function missingOn(
  { name, master }: FaultMember,
  load: FaultLoad,
  minions: readonly MovingMinion[],
): Promise<string[]> {
  const path = join(master.cacheDirectory, "jobs.lmdb");
  const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
  const wanted = new Map<string, string[]>();
  for (const { id, jobs } of minions)
    for (const jid of jobs.acknowledged) wanted.set(jid, [...(wanted.get(jid) ?? []), id]);
  const missing: string[] = [];
  const missingJobs: string[] = [];
  try {
    for (const jid of load.jids) if ((await cache.request(jid)) === undefined) missingJobs.push(jid);
    for (const [jid, ids] of wanted) {
      const stored = new Set((await returnsIn(cache, jid)).map(({ minionId }) => minionId));
      missing.push(...ids.filter((id) => !stored.has(id)).map((id) => `${jid} of ${id}`));
    }
  } finally {
    await cache.close();
  }
  const named = (what: string, all: readonly string[]) =>
    all.length === 0 ? [] : [`${name} lacks ${all.length} acknowledged ${what}: ${all.slice(0, namedMax).join(", ")}`];
  return [...named("returns", missing), ...named("jobs", missingJobs)];
}

function wrongKeys(site: FaultSite, load: FaultLoad): string[] {
  return [...load.keys].flatMap(([id, end]) => {
    const states = site.members.map((member) => member.acceptedKey(id));
    const text = `key ${id} (${end}) is ${states.map((key) => (key === undefined ? "gone" : "there")).join(", ")}`;
    if (new Set(states).size > 1) return [`${text}, and differs`];
    return end === "deleted" && states[0] !== undefined ? [text] : [];
  });
}
