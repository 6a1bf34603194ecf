/** What a master writes in a span: bytes and syncs from the system and from its own metrics, and the growth of its cache directory. */
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Storage } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { parseMetrics, sumOf } from "./prometheus.ts";
import { writtenBytesOf } from "./written-bytes.ts";

type StorageReading = {
  readonly writtenBytes: number | undefined;
  readonly syncs: number | undefined;
  readonly batches: number | undefined;
  readonly cacheBytes: number | undefined;
};

/** `syncs` and the bytes are undefined where they are not known, and after a restart, which sets counters back. */
export type StorageChange = {
  readonly writtenBytes: number | undefined;
  readonly syncs: number | undefined;
  readonly batches: number | undefined;
  readonly cacheBytesBefore: number | undefined;
  readonly cacheBytesAfter: number | undefined;
};

/** The unit of `blocks`, whatever the file system's own is. */
const blockBytes = 512;
const dayMs = 86_400_000;

/** Costs our master the time of one look at its metrics: call it outside the measured CPU time. */
export async function readStorage(master: MasterUnderTest): Promise<StorageReading> {
  return {
    writtenBytes: writtenBytesOf(master),
    ...(await countsOf(master)),
    cacheBytes: isCacheRead(master) ? bytesOnDisk(master.cacheDirectory) : undefined,
  };
}

/** The cache of a master that ran already may have millions of Salt's files, which would be read twice. */
function isCacheRead({ kind, reach }: MasterUnderTest): boolean {
  return kind !== "floor" && reach === undefined;
}

export function storageBetween(before: StorageReading, after: StorageReading): StorageChange {
  return {
    writtenBytes: grown(before.writtenBytes, after.writtenBytes),
    syncs: grown(before.syncs, after.syncs),
    batches: grown(before.batches, after.batches),
    cacheBytesBefore: before.cacheBytes,
    cacheBytesAfter: after.cacheBytes,
  };
}

function grown(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined || after < before ? undefined : after - before;
}

/** A point's `storage`. `operations`: the divisor of the CPU time. */
export function storageOf(
  { storage, wallMs }: { readonly storage: StorageChange; readonly wallMs: number },
  operations: number,
): Storage {
  const { writtenBytes, syncs, batches, cacheBytesBefore, cacheBytesAfter } = storage;
  const each = (total: number): number => total / Math.max(1, operations);
  const result: Storage = {};
  if (writtenBytes !== undefined) Object.assign(result, { writtenBytes, writtenBytesPerOperation: each(writtenBytes) });
  if (syncs !== undefined) Object.assign(result, { syncs, syncsPerOperation: each(syncs) });
  if (batches !== undefined) result.batches = batches;
  if (cacheBytesBefore !== undefined && cacheBytesAfter !== undefined) {
    const growth = cacheBytesAfter - cacheBytesBefore;
    Object.assign(result, { cacheBytesBefore, cacheBytesAfter, cacheBytesPerOperation: each(growth) });
    if (wallMs > 0) result.cacheBytesPerDay = (growth / wallMs) * dayMs;
  }
  return result;
}

/** Undefined from a master without metrics, and from one that is down. */
async function countsOf(master: MasterUnderTest): Promise<Pick<StorageReading, "syncs" | "batches">> {
  const unknown = { syncs: undefined, batches: undefined };
  if (master.metrics === undefined) return unknown;
  try {
    const samples = parseMetrics(await master.metrics());
    return {
      syncs: sumOf(samples, "saltworks_commits_total", 'outcome="done"'),
      batches: sumOf(samples, "saltworks_queue_wait_seconds_count", 'queue="requests"'),
    };
  } catch {
    return unknown;
  }
}

/** Space that a directory takes. Files that go meanwhile count as gone. */
export function bytesOnDisk(directory: string): number {
  return entriesOf(directory).reduce((sum, entry) => {
    const path = join(directory, entry.name);
    const own = (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * blockBytes;
    return sum + own + (entry.isDirectory() ? bytesOnDisk(path) : 0);
  }, 0);
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
