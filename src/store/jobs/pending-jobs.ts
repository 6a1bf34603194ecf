/**
 * Jobs that wait for absent minions (`deliver_within`), in an LMDB file of their own. A record has the publish's fields, the expected minions, the
 * deadline, and a mark per minion: one byte with the state of the delivery. docs/decisions/0019-jobs-for-absent-minions.md.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SaltworksError } from "../../errors.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { checkBytes, checkedValue, openValue } from "../disk/checked-value.ts";
import { attempt, storeDamaged, storeFailed } from "../disk/store-error.ts";
import { closeEnvironment, makeDatabases, openDatabase, openEnvironment, putLater } from "../lmdb/env.ts";

const dataFile = "data.mdb";
const directoryMode = 0o700;

/** In `fields` of a stored job of a cluster: only its owner by lease sends it. */
export const clusterField = "cluster";

/** `fields`: the publish without target and job id. `minions`: the expected minions; marks are in their order. */
export type PendingJobRecord = {
  readonly jid: string;
  readonly fields: ReadonlyMap<string, Encodable>;
  readonly minions: readonly string[];
  readonly publishedMs: number;
  readonly deadlineMs: number;
};
/** `areMarksDamaged`: at least one mark is not as it was written. */
export type StoredPendingJob = {
  readonly record: PendingJobRecord;
  readonly marks: Uint8Array;
  readonly areMarksDamaged?: boolean;
};

/** A write that has resolved is on disk. Every method fails with SaltworksError STORE_FAILED; `all` with STORE_DAMAGED if a record is damaged. */
export interface PendingJobs {
  /** All pending jobs, sorted by job id, so the oldest is first. */
  all(): StoredPendingJob[];
  put(record: PendingJobRecord): Promise<void>;
  /** @param marks one byte per minion */
  putMarks(jid: string, marks: Uint8Array): Promise<void>;
  remove(jid: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the store in the directory `path`, or makes it.
 *
 * @throws SaltworksError STORE_FAILED
 */
export function openPendingJobs(path: string): PendingJobs {
  attempt(`${path} cannot be made`, () => mkdirSync(path, { recursive: true, mode: directoryMode }));
  const environment = openEnvironment({ file: join(path, dataFile), isReadOnly: false, isSyncedOnCommit: true });
  const { jobs, marked } = makeDatabases(environment, () => ({
    jobs: openDatabase(environment, "jobs"),
    marked: openDatabase(environment, "marks"),
  }));
  const keyOf = (jid: string) => Buffer.from(jid, "utf8");
  const later = <Result>(bytes: number, write: () => Promise<Result>) =>
    putLater(environment, { records: 2, bytes }, write);
  return {
    all: () =>
      Array.from(jobs.getRange(), ({ key, value }) => {
        const record = readRecord(key, value);
        return { record, ...readMarks(key, marked.getBinary(key), record.minions.length) };
      }),
    put: async (record) => {
      const key = keyOf(record.jid);
      const value = checkedValue(key, packPendingJob(record));
      await later(value.byteLength, () => jobs.put(key, value));
    },
    putMarks: async (jid, marks) => {
      const key = keyOf(jid);
      await later(marks.byteLength, () => marked.put(key, checkedValue(key, marks)));
    },
    remove: async (jid) => {
      await later(0, () => Promise.all([jobs.remove(keyOf(jid)), marked.remove(keyOf(jid))]));
    },
    close: () => closeEnvironment(environment),
  };
}

/** The marks in a record; undefined if they are damaged. Earlier releases wrote marks without a hash, so the length tells whether there is one. */
export function openMarks(key: Buffer, value: Buffer, count: number): Buffer | undefined {
  if (value.byteLength === count) return value;
  const marks = value.byteLength === count + checkBytes ? openValue(key, value) : undefined;
  return marks?.byteLength === count ? marks : undefined;
}

function readMarks(key: Buffer, value: Buffer | undefined, count: number): Omit<StoredPendingJob, "record"> {
  const marks = value === undefined ? new Uint8Array(count) : openMarks(key, value, count);
  if (marks !== undefined) return { marks: Uint8Array.from(marks) };
  const damaged = new Uint8Array(count);
  damaged.set(value?.subarray(checkBytes, checkBytes + count) ?? []);
  return { marks: damaged, areMarksDamaged: true };
}

/** All but the job id. */
export function packPendingJob({ fields, minions, publishedMs, deadlineMs }: PendingJobRecord): Buffer {
  return Buffer.from(encode({ fields: new Map(fields), minions, publishedMs, deadlineMs }, "bin"));
}

function readRecord(key: Buffer, value: Buffer): PendingJobRecord {
  const jid = key.toString("utf8");
  const bytes = openValue(key, value);
  if (bytes === undefined) throw storeDamaged(`the pending job ${jid} is not what was stored`);
  return unpackPendingJob(jid, bytes);
}

/** @throws SaltworksError STORE_FAILED */
export function unpackPendingJob(jid: string, bytes: Uint8Array): PendingJobRecord {
  try {
    const map = decode(bytes) as ValueMap;
    return {
      jid,
      fields: map.get("fields") as ReadonlyMap<string, Encodable>,
      minions: map.get("minions") as string[],
      publishedMs: Number(map.get("publishedMs")),
      deadlineMs: Number(map.get("deadlineMs")),
    };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    throw storeFailed(`the pending job ${jid} cannot be read`, error);
  }
}
