/** Puts everything in our store into a new feed, the newest first, so that Salt's files become whole. */
import { saltMirrorAtOnce, saltReturnsWaitingMax } from "../../limits.ts";
import { readLayout } from "../drivers/lmdb/layout.ts";
import { otherPrefix, type ReadShard, readShards, timePrefix } from "../drivers/lmdb/records.ts";
import { closeEnvironment } from "../lmdb/env.ts";
import type { MinionData } from "../minions/data.ts";
import type { SaltFeed } from "./feed.ts";

export type FillOptions = {
  readonly feed: SaltFeed;
  /** Directory of the LMDB job cache. */
  readonly jobsPath: string;
  readonly minions: Pick<MinionData, "ids" | "mineIds">;
};

/** Once for each feed. An interrupted run begins anew. @returns how many returns and minions are to be written */
export async function fillFeed({ feed, jobsPath, minions }: FillOptions): Promise<number> {
  if (feed.isFilled) return 0;
  const ids = [...new Set([...minions.ids(), ...minions.mineIds()])];
  for (let at = 0; at < ids.length; at += saltMirrorAtOnce) feed.addMinions(ids.slice(at, at + saltMirrorAtOnce));
  const layout = readLayout(jobsPath);
  const shards = layout === undefined ? [] : readShards(jobsPath, layout);
  let count = ids.length;
  try {
    for (const shard of shards)
      count += await fillReturns(feed, shard, Math.floor(saltReturnsWaitingMax / shards.length));
  } finally {
    for (const { environment } of shards) await closeEnvironment(environment);
  }
  feed.markFilled();
  return count;
}

/** Jobs whose ids are times come first. Others are rare. */
async function fillReturns(feed: SaltFeed, { returns }: ReadShard, limit: number): Promise<number> {
  let count = 0;
  for (const prefix of [timePrefix, otherPrefix]) {
    let from = Buffer.from(String.fromCharCode(prefix.charCodeAt(0) + 1));
    while (count < limit) {
      returns.resetReadTxn();
      const range = { start: from, end: Buffer.from(prefix), reverse: true, exclusiveStart: true };
      const keys = Array.from(returns.getKeys({ ...range, limit: saltMirrorAtOnce }), (key) => Buffer.from(key));
      const last = keys.at(-1);
      if (last === undefined) break;
      feed.addReturns(keys);
      count += keys.length;
      from = last;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
  return count;
}
