/** A master's stored record of one return: in Salt's own layout, or in our store, read by another process. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openJobCacheReadOnly } from "../../src/client/read-job-cache.ts";
import { decode } from "../../src/wire/msgpack.ts";
import type { StoredReturn } from "./job-list.ts";

/** Salt's `local_cache`: `<cachedir>/jobs/<hash of the jid>/<minion id>/return.p`. */
export async function readLocalCache(cacheDir: string, jid: string, minionId: string): Promise<StoredReturn> {
  const hash = createHash("sha256").update(jid).digest("hex");
  return asStored(readFileSync(join(cacheDir, "jobs", hash.slice(0, 2), hash.slice(2), minionId, "return.p")));
}

export async function readOurStore(cacheDir: string, jid: string, minionId: string): Promise<StoredReturn> {
  const jobs = openJobCacheReadOnly({ cachedir: cacheDir, store_shards: 1, hash_type: "sha256" });
  try {
    const body = await jobs.returnOf(jid, minionId);
    if (body === undefined) throw new Error(`no return of ${minionId} for job ${jid} is stored`);
    return asStored(body);
  } finally {
    await jobs.close();
  }
}

function asStored(bytes: Uint8Array): StoredReturn {
  const record = decode(bytes);
  if (!(record instanceof Map)) throw new Error("a stored return is not a map");
  const retcode = record.get("retcode");
  const success = record.get("success");
  return {
    value: record.get("return"),
    retcode: typeof retcode === "number" ? retcode : undefined,
    success: typeof success === "boolean" ? success : undefined,
  };
}
