/**
 * Opening LMDB environments with the settings that all our stores share, and turning its failures into ours.
 * Binary keys and values throughout: what is stored is what was given.
 */
import { existsSync, statSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { SaltworksError } from "../../errors.ts";
import { storeCloseTimeoutMs } from "../../limits.ts";
import { attempt, storeDamaged, storeFailed } from "../disk/store-error.ts";
import { ensureLockFile, LmdbRoom, roomFor } from "./room.ts";
import { readHead, walkFile } from "./walk.ts";

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

/**
 * Whether something was stored in a file yet. On an empty one that is opened for reading, and on one that is damaged or cut, lmdb would end
 * the process instead of saying so. LMDB leaves the last pages out of its file if they are free: a short file is read whole, to tell.
 *
 * @throws SaltworksError STORE_DAMAGED if it is not an LMDB file, or ends before its pages do
 */
export function examineFile(file: string): boolean {
  if (!existsSync(file)) return false;
  const head = readHead(file);
  if (head === undefined) return false;
  const [latest] = head.metas;
  if (latest === undefined) throw storeDamaged(`${file} is not an LMDB file, or its head is damaged`, replaceAdvice);
  const wanted = (latest.lastPage + 1) * latest.pageBytes;
  if (head.size >= wanted) return true;
  const { faults } = walkFile(file);
  if (faults.length === 0) return true;
  throw storeDamaged(`${file} is cut: it has ${head.size} bytes, and its head says ${wanted}`, replaceAdvice);
}

/** Between the making of a data file and its first page, milliseconds. */
const firstWriteMs = 1_000;

/**
 * Whether an empty data file never held anything: a master that was killed, or met a full disk, while it made the file leaves one. A file that lost its
 * content was written to later. File systems that do not tell when a file was made say 0.
 */
export function wasNeverWritten(file: string): boolean {
  const { size, birthtimeMs, mtimeMs } = statSync(file);
  return size === 0 && birthtimeMs > 0 && Math.abs(mtimeMs - birthtimeMs) < firstWriteMs;
}

/** What an operator can do about a data file that cannot be opened. */
const replaceAdvice =
  "Put back a copy of the file, or move it away: what it held is then gone, and the master makes a new one. `saltworks check-store` says what can be read";

const rooms = new WeakMap<BinaryEnvironment, LmdbRoom>();

/** @throws SaltworksError STORE_FAILED */
export function openEnvironment(o: EnvironmentOptions): BinaryEnvironment {
  try {
    if (!examineFile(o.file) && o.isReadOnly) throw storeFailed("nothing was stored yet", undefined);
    ensureLockFile(o.file, readersMax);
    const environment = open<Buffer, Buffer>({
      path: o.file,
      noSubdir: true,
      encoding: "binary",
      keyEncoding: "binary",
      readOnly: o.isReadOnly,
      // Without overlapping, LMDB itself syncs data and meta page before a commit returns: nothing to wait for besides.
      // With it a crash of the machine loses the last commits but never the file, which `noSync` could.
      overlappingSync: !o.isSyncedOnCommit && !o.isReadOnly,
      // Batches are made explicitly: an implicit one of a turn has a promise that no code can catch when a commit fails.
      eventTurnBatching: false,
      mapSize: mapBytes,
      maxReaders: readersMax,
      maxDbs: databasesMax,
    });
    rooms.set(environment, new LmdbRoom(o.file));
    return environment;
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    throw storeFailed(`${o.file} cannot be opened`, error);
  }
}

export function openDatabase(environment: BinaryEnvironment, name: string): BinaryDatabase {
  return environment.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
}

const anyKey = Buffer.from("any");

/** What a transaction puts or removes at most: records, and bytes in them. */
export type Amount = { readonly records: number; readonly bytes: number };

/**
 * One transaction in the calling thread; when this returns it is as durable as the environment was opened for.
 *
 * A write of LMDB's own first pages that fails makes the environment refuse everything until it is opened anew. A reader is told so;
 * a transaction would end the process, so a reader is asked first. A full disk is met before the transaction changes anything.
 *
 * @throws what LMDB or the file system says
 */
export function transact<Result>(environment: BinaryEnvironment, amount: Amount, step: () => Result): Result {
  environment.resetReadTxn();
  environment.doesExist(anyKey);
  return environment.transactionSync(() => {
    rooms.get(environment)?.take(roomFor(amount.records, amount.bytes));
    return step();
  });
}

/** Opens databases that may be new, in one transaction: each would be one of its own otherwise. @throws SaltworksError STORE_FAILED */
export function makeDatabases<Opened>(environment: BinaryEnvironment, open: () => Opened): Opened {
  const amount = { records: databasesMax, bytes: 0 };
  return attempt("a new database cannot be written", () => transact(environment, amount, open));
}

/** A write that lmdb hands to its own thread. @throws SaltworksError STORE_FAILED with the reason */
export async function putLater<Result>(
  environment: BinaryEnvironment,
  amount: Amount,
  write: () => Promise<Result>,
): Promise<Result> {
  const room = rooms.get(environment);
  if (room === undefined) return await committed(write());
  try {
    return await room.during(roomFor(amount.records, amount.bytes), () => committed(write()));
  } catch (error) {
    throw error instanceof SaltworksError ? error : storeFailed("a write failed", error);
  }
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
    rooms.get(environment)?.close();
  }
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
async function committed<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    throw storeFailed("a write failed", await commitFault(error));
  }
}
