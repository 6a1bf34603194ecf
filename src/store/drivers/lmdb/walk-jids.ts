/** Lists the ids of all jobs in the LMDB job cache, with or without a request. */
import { attempt } from "../../disk/store-error.ts";
import type { JobWalk } from "../../jobs/job-import.ts";
import type { BinaryDatabase } from "../../lmdb/env.ts";
import { countOf } from "./feed-table.ts";
import { readLayout } from "./layout.ts";
import { closeShards, jidInLoadKey, jidInReturnKey, loadKey, type ReadShard, readShards } from "./records.ts";

const failure = "the job cache cannot be read";
/** Behind all keys of a job's returns, and before those of the next job. */
const behindReturns = Buffer.of(1);

/** A cache that does not exist has no jobs. */
export function openJobWalk(path: string): JobWalk {
  const layout = readLayout(path);
  return new LmdbJobWalk(layout === undefined ? [] : readShards(path, layout));
}

class LmdbJobWalk implements JobWalk {
  readonly #shards: readonly ReadShard[];

  constructor(shards: readonly ReadShard[]) {
    this.#shards = shards;
  }

  jids({ after, limit }: { readonly after: string | undefined; readonly limit: number }): readonly string[] {
    return attempt(failure, () => jidsAfter(this.#shards, after, limit));
  }

  jobCount(): number {
    return attempt(failure, () => this.#shards.reduce((sum, { loads }) => sum + countOf(loads), 0));
  }

  async close(): Promise<void> {
    await closeShards(this.#shards);
  }
}

/** Ids of jobs with a request or a return, in the order of their keys. */
export function jidsAfter(
  shards: readonly Pick<ReadShard, "loads" | "returns">[],
  after: string | undefined,
  limit: number,
): readonly string[] {
  const found = new Map<string, Buffer>();
  for (const { loads, returns } of shards) {
    for (const jid of loadJids(loads, after, limit)) found.set(jid, loadKey(jid));
    for (const jid of returnJids(returns, after, limit)) found.set(jid, loadKey(jid));
  }
  const sorted = [...found].sort(([, one], [, other]) => Buffer.compare(one, other));
  return sorted.slice(0, limit).map(([jid]) => jid);
}

function loadJids(loads: BinaryDatabase, after: string | undefined, limit: number): readonly string[] {
  loads.resetReadTxn();
  const start = after === undefined ? {} : { start: loadKey(after), exclusiveStart: true };
  return Array.from(loads.getKeys({ ...start, limit }), jidInLoadKey);
}

/** Looks up one key of each job, because a job may have thousands of returns. */
function returnJids(returns: BinaryDatabase, after: string | undefined, limit: number): readonly string[] {
  returns.resetReadTxn();
  const found: string[] = [];
  for (let last = after; found.length < limit; ) {
    const start = last === undefined ? {} : { start: Buffer.concat([loadKey(last), behindReturns]) };
    const [key] = returns.getKeys({ ...start, limit: 1 });
    if (key === undefined) break;
    last = jidInReturnKey(key);
    found.push(last);
  }
  return found;
}
