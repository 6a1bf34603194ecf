/** The returns of the job-cache bench, the same in every run: jobs of a fleet. Minions are divided among writers as the master divides partitions. */

import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import type { JobCache, LoadRecord, ReturnRecord } from "../../src/store/jobs/job-cache.ts";
import { openLocalCache } from "../../src/store/salt/local-cache.ts";
import { encode } from "../../src/wire/msgpack.ts";

export type StoreLoad = {
  readonly driver: "lmdb" | "local_cache";
  readonly directory: string;
  readonly durability: "fsync" | "commit" | "async";
  readonly shards: number;
  readonly writers: number;
  readonly batch: number;
  /** For each writer. */
  readonly batches: number;
  readonly minions: number;
};

/** Bodies of 300 to 600 bytes, like those of `test.ping` and short commands. */
const bodyBytesMin = 300;
const bodyBytesSpread = 300;
/** Visits every minion once before it repeats one: 7,919 is a prime above any fleet here, so it divides no fleet's size. */
const stride = 7_919;

/** A separate job for puts before the measurement. */
const firstJid = "20260102030404000000";

export function firstReturn(writer: number): ReturnRecord {
  const minionId = minionOf(writer);
  return { jid: firstJid, minionId, body: bodyOf(firstJid, minionId, 0) };
}

export function openStore(load: StoreLoad): JobCache {
  const { directory, shards, durability } = load;
  if (load.driver === "local_cache") return openLocalCache({ cachedir: directory, hashType: "sha256" });
  return openLmdbJobCache({ path: `${directory}/jobs.lmdb`, shards, durability });
}

export function jidOf(job: number): string {
  return `20260102030405${String(job).padStart(6, "0")}`;
}

/** The number of jobs in the load. */
export function jobCount({ batch, batches, minions, writers }: StoreLoad): number {
  return Math.ceil((batch * batches) / Math.ceil(minions / writers));
}

export function loadOf(load: StoreLoad, job: number): LoadRecord {
  const jid = jidOf(job);
  const minions = Array.from({ length: load.minions }, (_, index) => minionOf(index));
  return { jid, load: encode({ cmd: "publish", tgt: "*", fun: "test.ping", jid }, "bin"), minions };
}

/** A writer's batches, made before the measurement. */
export function batchesOf(load: StoreLoad, writer: number): ReturnRecord[][] {
  const own = Math.ceil(load.minions / load.writers);
  let at = 0;
  const next = (): ReturnRecord => {
    const job = Math.floor(at / own);
    const minionId = minionOf(((at * stride) % own) * load.writers + writer);
    at += 1;
    return { jid: jidOf(job), minionId, body: bodyOf(jidOf(job), minionId, at) };
  };
  return Array.from({ length: load.batches }, () => Array.from({ length: load.batch }, next));
}

function minionOf(index: number): string {
  return `minion-${String(index).padStart(5, "0")}.example.com`;
}

function bodyOf(jid: string, id: string, at: number): Uint8Array {
  const bytes = bodyBytesMin + ((at * stride) % bodyBytesSpread);
  const head = { cmd: "_return", id, success: true, retcode: 0, jid, fun: "cmd.run", fun_args: ["uptime"] };
  const headBytes = encode({ ...head, return: "" }, "bin").byteLength;
  return encode({ ...head, return: "x".repeat(Math.max(0, bytes - headBytes)) }, "bin");
}
