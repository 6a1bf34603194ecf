/** Compares every jid x minion with the stored returns: which are missing, and which came twice. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { openJobCacheReadOnly } from "../../../src/client/read-job-cache.ts";
import { allReturns, type JobCacheReader } from "../../../src/store/jobs/job-cache.ts";
import type { Point } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";

/** Minions whose return to a job is stored, by job. */
export type StoredReturns = { of(jid: string): Promise<ReadonlySet<string>>; close(): Promise<void> };

/** Reads the master's whole job cache from the disk; undefined for a master that stores nothing, or on another host. Of a cluster, what all members have. */
export function openStored(master: MasterUnderTest): StoredReturns | undefined {
  if (master.cluster !== undefined) return storedByAll(master.cluster.members);
  if (master.reach?.isStoreRead === false) return undefined;
  switch (master.kind) {
    case "saltworks":
      return ourStored(master);
    case "salt":
      return saltStored(master);
    case "floor":
    case "unknown":
      return undefined;
    default: {
      const never: never = master.kind;
      throw new TypeError(`unknown master ${String(never)}`);
    }
  }
}

export function ourStored({ cacheDirectory: cachedir }: Pick<MasterUnderTest, "cacheDirectory">): StoredReturns {
  // The layout on disk overrides the number of shards that is given here.
  const jobs = openJobCacheReadOnly({ cachedir, store_shards: 1, hash_type: "sha256" });
  return { of: (jid) => minionsIn(jobs, jid), close: () => jobs.close() };
}

export function saltStored({ cacheDirectory }: Pick<MasterUnderTest, "cacheDirectory">): StoredReturns {
  return { of: async (jid) => saltReturns(cacheDirectory, jid), close: () => Promise.resolve() };
}

function storedByAll(members: readonly Pick<MasterUnderTest, "cacheDirectory">[]): StoredReturns {
  const stores = members.map(ourStored);
  return {
    of: async (jid) => {
      const [first = new Set<string>(), ...others] = await Promise.all(stores.map((store) => store.of(jid)));
      return new Set([...first].filter((id) => others.every((other) => other.has(id))));
    },
    close: async () => {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

async function minionsIn(jobs: Pick<JobCacheReader, "returns">, jid: string): Promise<Set<string>> {
  const minions = new Set<string>();
  for await (const { minionId } of allReturns(jobs, jid)) minions.add(minionId);
  return minions;
}

/** Salt's local cache: a folder for each job by its jid's SHA-256, in it one for each minion with its return. */
function saltReturns(cacheDirectory: string, jid: string): Set<string> {
  const digest = createHash("sha256").update(jid).digest("hex");
  const folder = join(cacheDirectory, "jobs", digest.slice(0, 2), digest.slice(2));
  if (!existsSync(folder)) return new Set();
  const minions = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return new Set(minions.map(({ name }) => name).filter((name) => existsSync(join(folder, name, "return.p"))));
}

const saltDuplicate = /An extra return was detected from minion/g;

/** Duplicates since the master's start: returns that it had already stored when they came. */
export async function duplicatesSeen(master: MasterUnderTest): Promise<number> {
  if (master.counters !== undefined) {
    const { workers } = await master.counters();
    return workers.reduce((sum, worker) => sum + (worker.get("returns.duplicate") ?? 0), 0);
  }
  // The log of a master that ran already tells of other minions, too.
  if (
    master.reach !== undefined ||
    master.kind !== "salt" ||
    master.logFile === undefined ||
    !existsSync(master.logFile)
  )
    return 0;
  return readFileSync(master.logFile, "utf8").match(saltDuplicate)?.length ?? 0;
}

type Observed = { acknowledged: number; duplicatesBefore: number; errors: Record<string, number> };

export type Expected = { readonly jids: readonly string[]; readonly ids: readonly string[] };

/** How long a member of a cluster may take to read what the others took. */
const membersLagMs = 30_000;
const membersPollMs = 250;

/** Undefined for a master without a store that can be read here. */
async function countStored(master: MasterUnderTest, all: readonly Expected[]): Promise<number | undefined> {
  const stored = openStored(master);
  if (stored === undefined) return undefined;
  let accounted = 0;
  try {
    for (const { jids, ids } of all) {
      for (const jid of jids) {
        // Agents hear from the bench meanwhile.
        await setImmediate();
        const minions = await stored.of(jid);
        for (const id of ids) if (minions.has(id)) accounted += 1;
      }
    }
  } finally {
    await stored.close();
  }
  return accounted;
}

/**
 * `acknowledged`: replies that acknowledged a return, the only count for a master that stores nothing.
 * `duplicatesBefore`: the value of `duplicatesSeen` when the span began.
 */
export function account(master: MasterUnderTest, expected: Expected, o: Observed): Promise<Point["correctness"]> {
  return accountAll(master, [expected], o);
}

/** As `account`, for jobs of different minions. */
export async function accountAll(
  master: MasterUnderTest,
  all: readonly Expected[],
  o: Observed,
): Promise<Point["correctness"]> {
  const count = all.reduce((sum, { jids, ids }) => sum + jids.length * ids.length, 0);
  const stored = await countStored(master, all);
  let accounted = stored ?? Math.min(o.acknowledged, count);
  // On a busy machine a member reads the others' returns some seconds later.
  const deadlineMs = performance.now() + (master.cluster === undefined ? 0 : membersLagMs);
  while (accounted < count && performance.now() < deadlineMs) {
    await delay(membersPollMs);
    accounted = (await countStored(master, all)) ?? 0;
  }
  const errors = Object.fromEntries(Object.entries(o.errors).filter(([, times]) => times > 0));
  const duplicates = (await duplicatesSeen(master)) - o.duplicatesBefore;
  const isByReplies = stored === undefined && master.reach !== undefined;
  const base = { expected: count, accounted, missing: count - accounted, duplicates, errors };
  return isByReplies ? { ...base, countedBy: "replies" } : base;
}
