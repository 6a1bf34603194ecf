/**
 * Opening LMDB environments with the settings that all our stores share, and turning its failures into ours.
 * Binary keys and values throughout: what is stored is what was given.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { hasCodeIn } from "../config/file-errors.ts";
import { SaltworksError } from "../errors.ts";
import { storeCloseTimeoutMs } from "../limits.ts";

export type BinaryDatabase = Database<Buffer, Buffer>;
export type BinaryEnvironment = RootDatabase<Buffer, Buffer>;

/** Address space reserved at first; it grows by itself. Growing stops every reader, so begin above what most fleets need. */
const mapBytes = 1024 * 1024 * 1024;
/** Every thread and every process that reads holds one place. */
const readersMax = 512;
const databasesMax = 16;

export type EnvironmentOptions = {
  /** The data file; the lock file stands beside it. */
  readonly file: string;
  /** true: a put resolves when it is on disk. false: when it is committed; the disk follows in the background. */
  readonly isSyncedOnCommit: boolean;
  readonly isReadOnly: boolean;
};

/** LMDB's mark in the first page of a data file, and where it stands. */
const dataMark = Buffer.from("dec0efbe", "hex");
const dataMarkAt = 24;

/**
 * Whether something was stored in a file yet. On an empty one that is opened for reading, and on one that is damaged, lmdb would end
 * the process instead of saying so.
 *
 * @throws SaltworksError STORE_FAILED if it is no LMDB file
 */
function hasData(file: string): boolean {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return false;
    throw error;
  }
  try {
    const start = Buffer.alloc(dataMarkAt + dataMark.byteLength);
    const bytes = readSync(handle, start, 0, start.byteLength, 0);
    if (bytes === 0) return false;
    if (start.indexOf(dataMark, dataMarkAt) === dataMarkAt) return true;
    throw storeFailed(`${file} is no LMDB file, or damaged`, undefined);
  } finally {
    closeSync(handle);
  }
}

/** @throws SaltworksError STORE_FAILED */
export function openEnvironment(o: EnvironmentOptions): BinaryEnvironment {
  try {
    if (!hasData(o.file) && o.isReadOnly) throw storeFailed("nothing was stored yet", undefined);
    return open<Buffer, Buffer>({
      path: o.file,
      noSubdir: true,
      encoding: "binary",
      keyEncoding: "binary",
      readOnly: o.isReadOnly,
      // Without overlapping, LMDB itself syncs data and meta page before a commit returns: nothing to wait for besides.
      // With it a crash of the machine loses the last commits but never the file, which `noSync` could.
      overlappingSync: !o.isSyncedOnCommit && !o.isReadOnly,
      // Batches are made explicitly: the implicit ones of a turn have a promise that nobody can catch when a commit fails.
      eventTurnBatching: false,
      mapSize: mapBytes,
      maxReaders: readersMax,
      maxDbs: databasesMax,
    });
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    throw storeFailed(`${o.file} cannot be opened`, error);
  }
}

export function openDatabase(environment: BinaryEnvironment, name: string): BinaryDatabase {
  return environment.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
}

const anyKey = Buffer.from("any");

/**
 * One transaction in the calling thread; when this returns it is as durable as the environment was opened for.
 *
 * A write of LMDB's own first pages that fails makes the environment refuse everything until it is opened anew. A reader is told so;
 * a transaction would end the process, so a reader is asked first.
 *
 * @throws what LMDB says
 */
export function transact(environment: BinaryEnvironment, step: () => void): void {
  environment.resetReadTxn();
  environment.doesExist(anyKey);
  environment.transactionSync(step);
}

/** Closes after the writes under way. A disk that failed may never finish them: then the process ends without. */
export async function closeEnvironment(environment: BinaryEnvironment): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(storeFailed("writes did not finish", undefined)), storeCloseTimeoutMs);
  });
  try {
    await Promise.race([environment.close(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

export function storeFailed(message: string, cause: unknown): SaltworksError {
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new SaltworksError("STORE_FAILED", `${message}${reason}`, {}, { cause });
}

/** The reason of a failed commit comes in a promise of its own, which must be awaited or it ends the process. */
async function commitFault(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}

/** Awaits writes. @throws SaltworksError STORE_FAILED with the writer's own reason */
export async function committed<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    throw storeFailed("a write failed", await commitFault(error));
  }
}
