/** Writes rows of jobs and returns in one transaction, each key with its expiry. What is written twice is there once. */
import { strOf } from "../../python/repr.ts";
import type { Written } from "../contract/database.ts";
import type { JobRow, ReturnRow, Row } from "../contract/rows.ts";
import type { RedisClient } from "./client.ts";
import { lastJobKey, loadKey, minionsKey, returnsKey } from "./keys.ts";

/** @param keepSeconds the expiry of each key; 0: none */
export async function writeRows(
  client: RedisClient,
  rows: readonly Row[],
  { mayBePresent, keepSeconds }: { readonly mayBePresent: boolean; readonly keepSeconds: number },
): Promise<Written> {
  const returns = rows.filter((row): row is ReturnRow => row.kind === "return");
  const jobs = rows.filter((row): row is JobRow => row.kind === "job");
  const pointers = mayBePresent ? await newerPointers(client, pointersOf(returns)) : pointersOf(returns);
  const batch = client.multi();
  const expiry = keepSeconds > 0 ? { EX: keepSeconds } : {};
  const jids = [...new Set(returns.map(({ jid }) => jid))];
  // Jobs and then returns come first, so that their answers come first. Salt, too, replaces a job that is there.
  const how = mayBePresent ? { ...expiry, NX: true as const } : expiry;
  for (const { jid, load } of jobs) batch.set(loadKey(jid), load, how);
  if (mayBePresent) for (const row of returns) batch.hSetNX(returnsKey(row.jid), row.minionId, row.whole);
  else for (const jid of jids) batch.hSet(returnsKey(jid), returnsOf(jid, returns));
  if (keepSeconds > 0) for (const jid of jids) batch.expire(returnsKey(jid), keepSeconds);
  for (const [key, jid] of pointers) batch.set(key, jid, expiry);
  if (returns.length > 0) batch.sAdd(minionsKey, [...new Set(returns.map(({ minionId }) => minionId))]);
  const answers = await batch.exec();
  if (!mayBePresent) return { jobs: jobs.length, returns: returns.length, present: 0 };
  const newJobs = answers.slice(0, jobs.length).filter((set) => set !== null).length;
  const newReturns = answers.slice(jobs.length, rows.length).filter((added) => added === 1).length;
  return { jobs: newJobs, returns: newReturns, present: rows.length - newJobs - newReturns };
}

function returnsOf(jid: string, returns: readonly ReturnRow[]): ReadonlyMap<string, string> {
  return new Map(returns.filter((row) => row.jid === jid).map(({ minionId, whole }) => [minionId, whole]));
}

/** In which job each minion's function ran last. */
function pointersOf(returns: readonly ReturnRow[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { minionId, jid, fields } of returns) {
    const key = lastJobKey(minionId, strOf(fields.get("fun") ?? null));
    if (key !== undefined && jid > (last.get(key) ?? "")) last.set(key, jid);
  }
  return last;
}

/** Rows that may be present may be old, and a later job may have been written since. */
async function newerPointers(
  client: RedisClient,
  pointers: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const keys = [...pointers.keys()];
  if (keys.length === 0) return pointers;
  const present = await client.mGet(keys);
  return new Map([...pointers].filter(([, jid], index) => jid > (present[index] ?? "")));
}
