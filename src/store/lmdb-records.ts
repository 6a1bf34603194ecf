/**
 * What stands in the files of the LMDB job cache: keys, records, and which file holds which.
 */
import { isJid } from "../wire/jid.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { LoadRecord } from "./job-cache.ts";
import { type BinaryDatabase, type BinaryEnvironment, openDatabase, openEnvironment, transact } from "./lmdb-env.ts";
import { shardFile } from "./lmdb-layout.ts";
import type { LoggedEntry } from "./return-log-frames.ts";

/** Job ids that are times sort by time. Others, which a user may give, stand apart so that trimming and listing needn't step over them. */
export const timePrefix = "t";
export const otherPrefix = "u";
const otherPrefixByte = otherPrefix.charCodeAt(0);
const separator = 0;
const msPerHour = 3_600_000;
const hourBytes = 4;
const ifAbsent = { noOverwrite: true };

export type Shard = {
  readonly environment: BinaryEnvironment;
  readonly loads: BinaryDatabase;
  readonly returns: BinaryDatabase;
  /** Hour and id of jobs whose id is no time: what trimming goes by. */
  readonly others: BinaryDatabase;
};

export function jobKey(jid: string): string {
  return (isJid(jid) ? timePrefix : otherPrefix) + jid;
}

export function loadKey(jid: string): Buffer {
  return Buffer.from(jobKey(jid), "utf8");
}

/** Minion ids hold no NUL, so the last one ends the job id, whatever that holds. */
export function returnKey(jid: string, minionId: string): Buffer {
  return Buffer.from(`${jobKey(jid)}\0${minionId}`, "utf8");
}

/** Keys of a job's returns, and of jobs whose id goes on with a NUL. */
export function returnRange(jid: string): { start: Buffer; end: Buffer } {
  const start = returnKey(jid, "");
  const end = Buffer.from(start);
  end[end.length - 1] = separator + 1;
  return { start, end };
}

/** Another job's id may begin with this one's and a NUL. */
export function isReturnOf(key: Buffer, start: Buffer): boolean {
  return key.lastIndexOf(separator) === start.length - 1;
}

export function otherKey(jid: string, nowMs: number): Buffer {
  const key = Buffer.alloc(hourBytes + Buffer.byteLength(jid));
  key.writeUInt32BE(Math.floor(nowMs / msPerHour), 0);
  key.write(jid, hourBytes, "utf8");
  return key;
}

/** FNV-1a over UTF-16 units: the same in every release, since it decides where data is. */
export function shardIndexOf(text: string, count: number): number {
  if (count === 1) return 0;
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % count;
}

export function decodeLoad(jid: string, bytes: Buffer): LoadRecord {
  const record = decode(bytes) as Map<string, unknown>;
  const load = record.get("load") as Uint8Array;
  const minions = record.get("minions") as string[];
  const missing = record.get("missing") as string[] | undefined;
  return missing === undefined ? { jid, load, minions } : { jid, load, minions, missing };
}

export function encodeLoad({ load, minions, missing }: LoadRecord): Buffer {
  return encode({ load, minions, missing }, "bin");
}

/** Stores each return that isn't there yet, in one transaction per file that they touch. */
export function storeReturns(shards: readonly Shard[], entries: readonly LoggedEntry[]): void {
  for (const [index, { environment, returns, others }] of shards.entries()) {
    const own =
      shards.length === 1
        ? entries
        : entries.filter(({ key }) => shardIndexOf(minionIdIn(key), shards.length) === index);
    if (own.length === 0) continue;
    transact(environment, () => {
      for (const { key, body } of own) {
        returns.putSync(key, body, ifAbsent);
        if (key[0] === otherPrefixByte) others.putSync(otherKey(jidInReturnKey(key), Date.now()), Buffer.alloc(0));
      }
    });
  }
}

/** Opens or makes the files `0.mdb` to `<count - 1>.mdb`. */
export function openShards(path: string, count: number, isSyncedOnCommit: boolean): Shard[] {
  return Array.from({ length: count }, (_, index): Shard => {
    const environment = openEnvironment({ file: shardFile(path, index), isReadOnly: false, isSyncedOnCommit });
    return databasesOf(environment);
  });
}

/** The files for reading. @throws SaltworksError STORE_FAILED if one is not there */
export function readShards(path: string, count: number): Shard[] {
  return Array.from({ length: count }, (_, index): Shard => {
    const file = shardFile(path, index);
    return databasesOf(openEnvironment({ file, isReadOnly: true, isSyncedOnCommit: true }));
  });
}

function databasesOf(environment: BinaryEnvironment): Shard {
  return {
    environment,
    loads: openDatabase(environment, "loads"),
    returns: openDatabase(environment, "returns"),
    others: openDatabase(environment, "others"),
  };
}

/** The minion id at the end of a return's key. */
export function minionIdIn(key: Buffer): string {
  return key.toString("utf8", key.lastIndexOf(separator) + 1);
}

function jidInReturnKey(key: Buffer): string {
  return key.toString("utf8", 1, key.lastIndexOf(separator));
}

/** The job id in a load's key. */
export function jidInLoadKey(key: Buffer): string {
  return key.toString("utf8", 1);
}

/** The job id in an entry of `others`. */
export function jidInOtherKey(key: Buffer): string {
  return key.toString("utf8", hourBytes);
}
