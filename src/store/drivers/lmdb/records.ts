/**
 * The keys and records in the files of the LMDB job cache, and the choice of a record's file.
 */
import { jobIdAheadMs } from "../../../limits.ts";
import { isJid, jidAt } from "../../../wire/jid.ts";
import { decode, encode } from "../../../wire/msgpack.ts";
import { pickEntries } from "../../../wire/pick.ts";
import { checkedValue, openValue } from "../../disk/checked-value.ts";
import { storeDamaged } from "../../disk/store-error.ts";
import { damagedAdvice } from "../../jobs/damage-notes.ts";
import type { LoadRecord, LoadToPut } from "../../jobs/job-cache.ts";
import {
  type BinaryDatabase,
  type BinaryEnvironment,
  closeEnvironment,
  makeDatabases,
  openDatabase,
  openEnvironment,
  transact,
} from "../../lmdb/env.ts";
import { bodyIn, type LoggedEntry } from "../../return-log/frames.ts";
import { appendToFeed, feedPages, returnKind } from "./feed-table.ts";
import type { IndexedLoad, JobIndex } from "./job-index.ts";
import { indexedVersion, type Layout, shardFile } from "./layout.ts";

/** First letter of keys. Job ids that are times sort by time. Other ids, which users may give, sort apart, so that trimming and listing skip them. */
export const timePrefix = "t";
export const otherPrefix = "u";
const separator = 0;
/** Length of the hours of `others`, milliseconds. */
export const msPerHour = 3_600_000;
const hourBytes = 4;
const ifAbsent = { noOverwrite: true };

export type Shard = {
  readonly environment: BinaryEnvironment;
  readonly loads: BinaryDatabase;
  readonly returns: BinaryDatabase;
  /** Keys of hour and job id, for ids that are not times or are times far ahead. Trimming reads the hour. */
  readonly others: BinaryDatabase;
  /** Per job: when the last return of this file's minions came, as 20 digits. Only with `job_cache_store_endtime`. */
  readonly ends: BinaryDatabase;
  readonly index: JobIndex;
  /** What is still to be copied into a database (feed.ts). */
  readonly feed: BinaryDatabase;
};
/** A shard for reading. A cache of layout 1 has neither `ends` nor `index`. */
export type ReadShard = Omit<Shard, "ends" | "index" | "feed"> & Partial<Shard>;

/** What is stored beside returns: when each job's last return came, and their entries in the feed. */
export type BesideReturns = { readonly isEndKept?: boolean; readonly areFed?: boolean };

export function jobKey(jid: string): string {
  return (isJid(jid) ? timePrefix : otherPrefix) + jid;
}

export function loadKey(jid: string): Buffer {
  return Buffer.from(jobKey(jid), "utf8");
}

/** A minion id has no NUL, so the key's last NUL ends the job id, which may have NULs. */
export function returnKey(jid: string, minionId: string): Buffer {
  return Buffer.from(`${jobKey(jid)}\0${minionId}`, "utf8");
}

/** The range of keys of a job's returns. Returns of other jobs whose ids begin with this id and a NUL are in it, too: see `isReturnOf`. */
export function returnRange(jid: string): { start: Buffer; end: Buffer } {
  const start = returnKey(jid, "");
  const end = Buffer.from(start);
  end[end.length - 1] = separator + 1;
  return { start, end };
}

/** Whether the key is one of the job's returns. Another job's id may begin with this job's id and a NUL. */
export function isReturnOf(key: Buffer, start: Buffer): boolean {
  return key.lastIndexOf(separator) === start.length - 1;
}

export function otherKey(jid: string, nowMs: number): Buffer {
  const key = Buffer.alloc(hourBytes + Buffer.byteLength(jid));
  key.writeUInt32BE(Math.floor(nowMs / msPerHour), 0);
  key.write(jid, hourBytes, "utf8");
  return key;
}

/** Keys of job ids at whose time nothing can be trimmed come after this key: times far ahead of the clock, and ids that are not times. */
export function aheadKey(nowMs: number): Buffer {
  return loadKey(jidAt(nowMs + jobIdAheadMs, 0));
}

/** FNV-1a over UTF-16 units. It must be the same in every release, because it decides in which file a record is. */
export function shardIndexOf(text: string, count: number): number {
  if (count === 1) return 0;
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % count;
}

/** The publish load in a load's record, read without decoding the expected minions. Empty if the record is damaged. */
export function requestIn(key: Buffer, value: Buffer): Uint8Array {
  return indexedIn(key, value).request;
}

/** The expected minions in a load's record. Empty if the record is damaged. */
export function expectedIn(key: Buffer, value: Buffer): readonly string[] {
  const record = openValue(key, value);
  const minions = record === undefined ? undefined : pickEntries(record, new Set(["minions"])).get("minions");
  return Array.isArray(minions) ? minions.map(String) : [];
}

const indexedFields: ReadonlySet<string> = new Set(["load", "nocache"]);

/** The indexed parts of a load's record. */
export function indexedIn(key: Buffer, value: Buffer): IndexedLoad {
  const record = openValue(key, value);
  const fields = record === undefined ? undefined : pickEntries(record, indexedFields);
  const request = fields?.get("load");
  return {
    request: request instanceof Uint8Array ? request : value.subarray(0, 0),
    isNoCache: fields?.get("nocache") === true,
  };
}

/** @throws SaltworksError STORE_DAMAGED */
export function decodeLoad(jid: string, value: Buffer): LoadRecord {
  const bytes = openValue(loadKey(jid), value);
  if (bytes === undefined) throw storeDamaged(`the record of job ${jid} is not what was stored`, damagedAdvice);
  const record = decode(bytes) as Map<string, unknown>;
  const load = record.get("load") as Uint8Array;
  const minions = record.get("minions") as string[];
  const missing = record.get("missing") as string[] | undefined;
  const isNoCache = record.get("nocache") === true;
  const isTakenOver = record.get("taken") === true;
  return {
    jid,
    load,
    minions,
    ...(missing === undefined ? {} : { missing }),
    ...(isNoCache ? { isNoCache } : {}),
    ...(isTakenOver ? { isTakenOver } : {}),
  };
}

export function encodeLoad({ jid, load, minions, missing, isNoCache, isTakenOver }: LoadToPut): Buffer {
  const record = encode({ load, minions, missing, nocache: isNoCache, taken: isTakenOver }, "bin");
  return checkedValue(loadKey(jid), record);
}

/** Stores each return that the store lacks, and what belongs beside it, in one transaction per file. */
export function storeReturns(
  shards: readonly Shard[],
  entries: readonly LoggedEntry[],
  { isEndKept = false, areFed = false }: BesideReturns = {},
): void {
  const nowMs = Date.now();
  const ahead = aheadKey(nowMs);
  for (const [index, { environment, returns, others, ends, feed }] of shards.entries()) {
    const own =
      shards.length === 1
        ? entries
        : entries.filter(({ key }) => shardIndexOf(minionIdIn(key), shards.length) === index);
    if (own.length === 0) continue;
    const bytes = own.reduce((sum, { key, value }) => sum + key.byteLength + value.byteLength, 0);
    transact(environment, { records: own.length + (areFed ? feedPages(own.length) : 0), bytes }, () => {
      const fresh: Buffer[] = [];
      for (const { key, value } of own) {
        // A log that is read again after a crash has returns that are stored and fed already.
        if (areFed && !returns.doesExist(key)) fresh.push(key);
        returns.putSync(key, value, ifAbsent);
        if (key.compare(ahead) > 0) others.putSync(otherKey(jidInReturnKey(key), nowMs), Buffer.alloc(0));
      }
      appendToFeed(feed, returnKind, fresh);
      if (isEndKept) for (const [jid, end] of endsOf(own)) keepEnd(ends, loadKey(jid), end);
    });
  }
}

/** When each job's last of these returns came. `entries` are in the order in which they came. */
function endsOf(entries: readonly LoggedEntry[]): Map<string, string> {
  const last = new Map<string, string>();
  for (const entry of entries.toReversed()) {
    const jid = jidInReturnKey(entry.key);
    if (last.has(jid)) continue;
    const end = endIn(bodyIn(entry));
    if (end !== undefined) last.set(jid, end);
  }
  return last;
}

const stampField: ReadonlySet<string> = new Set(["_stamp"]);

/** When a return came, as the 20 digits of a job id. */
export function endIn(body: Uint8Array): string | undefined {
  const stamp = pickEntries(body, stampField).get("_stamp");
  const digits = typeof stamp === "string" ? stamp.replace(/\D/g, "").padEnd(20, "0") : "";
  return isJid(digits) ? digits : undefined;
}

/** The end time in a record, as 20 digits; undefined if the record is damaged. */
export function storedEnd(key: Buffer, value: Buffer): string | undefined {
  const end = openValue(key, value)?.toString("latin1") ?? "";
  return isJid(end) ? end : undefined;
}

/** Keeps the later of two ends. Call it in a transaction. */
export function keepEnd(ends: BinaryDatabase, key: Buffer, end: string): void {
  const value = ends.getBinary(key);
  const present = value === undefined ? undefined : storedEnd(key, value);
  if (present === undefined || present < end) ends.putSync(key, checkedValue(key, Buffer.from(end, "latin1")));
}

/** Opens or makes the files `0.mdb` to `<count - 1>.mdb`. */
export function openShards(path: string, count: number, isSyncedOnCommit: boolean): Shard[] {
  return Array.from({ length: count }, (_, index): Shard => {
    const environment = openEnvironment({ file: shardFile(path, index), isReadOnly: false, isSyncedOnCommit });
    return makeDatabases(environment, () => ({
      ...databasesOf(environment),
      ...laterDatabasesOf(environment),
      feed: openDatabase(environment, "feed"),
    }));
  });
}

/** Opens the files for reading. @throws SaltworksError STORE_FAILED if one does not exist */
export function readShards(path: string, { shards, version }: Layout): ReadShard[] {
  return Array.from({ length: shards }, (_, index): ReadShard => {
    const environment = openEnvironment({ file: shardFile(path, index), isReadOnly: true, isSyncedOnCommit: true });
    const isIndexed = version >= indexedVersion;
    return { ...databasesOf(environment), ...(isIndexed ? laterDatabasesOf(environment) : {}) };
  });
}

function databasesOf(environment: BinaryEnvironment) {
  return {
    environment,
    loads: openDatabase(environment, "loads"),
    returns: openDatabase(environment, "returns"),
    others: openDatabase(environment, "others"),
  };
}

function laterDatabasesOf(environment: BinaryEnvironment) {
  const index: JobIndex = {
    termIds: openDatabase(environment, "termIds"),
    termTexts: openDatabase(environment, "termTexts"),
    postings: openDatabase(environment, "postings"),
    jobTerms: openDatabase(environment, "jobTerms"),
  };
  return { ends: openDatabase(environment, "ends"), index };
}

export async function closeShards(shards: readonly ReadShard[]): Promise<void> {
  for (const { environment } of shards) await closeEnvironment(environment);
}

/** The minion id at the end of a return's key. */
export function minionIdIn(key: Buffer): string {
  return key.toString("utf8", key.lastIndexOf(separator) + 1);
}

export function jidInReturnKey(key: Buffer): string {
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
