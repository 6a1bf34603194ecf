/**
 * Opens LMDB environments with the settings of all our stores, and turns LMDB's errors into ours.
 * Keys and values are binary, without any encoding by lmdb.
 */
import { existsSync, statSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import { storeCloseTimeoutMs } from "../../limits.ts";
import { attempt, storeDamaged, storeFailed } from "../disk/store-error.ts";
import { checkRoomForNew, ensureLockFile, LmdbRoom, roomFor } from "./room.ts";
import { marked } from "./transaction-marks.ts";
import { readHead, walkFile } from "./walk.ts";

export type BinaryDatabase = Database<Buffer, Buffer>;
export type BinaryEnvironment = RootDatabase<Buffer, Buffer>;

/** Address space that is reserved at first. It grows by itself, but growth stops every reader, so it begins above the need of most fleets. */
const mapBytes = 1024 * 1024 * 1024;
/** Slots in LMDB's reader table. Every reading thread of every process has one. */
const readersMax = 512;
const databasesMax = 16;

export type EnvironmentOptions = {
  /** The data file. The lock file is beside it. */
  readonly file: string;
  /** True: a put resolves when it is on disk. False: when it is committed; the sync follows in the background. */
  readonly isSyncedOnCommit: boolean;
  readonly isReadOnly: boolean;
};

/**
 * Checks a data file before lmdb opens it, because lmdb ends the process on an empty file that is opened for reading, and on a damaged or cut file.
 * LMDB may leave free last pages out of its file, so a file that is shorter than its head says is read whole.
 *
 * @returns false if the file is missing or empty
 * @throws SaltworksError STORE_DAMAGED if it is not an LMDB file, or lacks pages that are in use
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

/** Bound of the time from the creation of a data file to the write of its first page, milliseconds. */
const firstWriteMs = 1_000;

/**
 * Whether an empty data file never had contents: a master leaves such a file if it is killed, or finds the disk full, as it makes the file. A file
 * that lost its contents was changed later. File systems that do not store a file's creation time report 0.
 */
export function wasNeverWritten(file: string): boolean {
  const { size, birthtimeMs, mtimeMs } = statSync(file);
  return size === 0 && birthtimeMs > 0 && Math.abs(mtimeMs - birthtimeMs) < firstWriteMs;
}

/** Advice to the operator about a data file that cannot be opened. */
const replaceAdvice =
  "Put back a copy of the file, or move it away: its data is then lost, and the master makes a new file. `saltworks check-store` shows what can be read";

const rooms = new WeakMap<BinaryEnvironment, LmdbRoom>();

/** @throws SaltworksError STORE_FAILED */
export function openEnvironment(o: EnvironmentOptions): BinaryEnvironment {
  try {
    const isNew = !examineFile(o.file);
    if (isNew && o.isReadOnly) throw storeFailed("nothing was stored yet", undefined);
    ensureLockFile(o.file, readersMax);
    if (isNew) checkRoomForNew(o.file);
    const environment = open<Buffer, Buffer>({
      path: o.file,
      noSubdir: true,
      encoding: "binary",
      keyEncoding: "binary",
      readOnly: o.isReadOnly,
      // Without `overlappingSync`, LMDB syncs data and meta page before a commit returns.
      // With it, a crash of the machine loses the last commits but not the file; with `noSync` it could lose the file.
      overlappingSync: !o.isSyncedOnCommit && !o.isReadOnly,
      // lmdb's batch per turn of the event loop has a promise that no code can catch if the commit fails.
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

/** Upper bound of what a transaction puts or removes: records, and bytes in them. */
export type Amount = { readonly records: number; readonly bytes: number };

/**
 * Runs one transaction in the calling thread. When this returns, it is as durable as the environment was opened for.
 *
 * After a failed write of its meta pages LMDB refuses every call until the environment is opened anew. A read then fails with an error, but a write
 * transaction would end the process, so this function reads first. A full disk fails before the transaction changes anything.
 *
 * @throws errors of LMDB or the file system
 */
export function transact<Result>(environment: BinaryEnvironment, amount: Amount, step: () => Result): Result {
  environment.resetReadTxn();
  environment.doesExist(anyKey);
  return marked(() =>
    environment.transactionSync(() => {
      rooms.get(environment)?.take(roomFor(amount.records, amount.bytes));
      return step();
    }),
  );
}

/** Opens databases that may be new, in one transaction instead of one each. @throws SaltworksError STORE_FAILED */
export function makeDatabases<Opened>(environment: BinaryEnvironment, open: () => Opened): Opened {
  const amount = { records: databasesMax, bytes: 0 };
  return attempt("a new database cannot be written", () => transact(environment, amount, open));
}

/** Runs a write that lmdb makes on its own thread. @throws SaltworksError STORE_FAILED with the reason */
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

/** Closes after the writes under way. A failed disk may never finish them: then this fails after `storeCloseTimeoutMs`. */
export async function closeEnvironment(environment: BinaryEnvironment): Promise<void> {
  try {
    await within(environment.close(), storeCloseTimeoutMs, () => {
      throw storeFailed("writes did not finish", undefined);
    });
  } finally {
    rooms.get(environment)?.close();
  }
}

/** The reason of a failed commit. lmdb gives it as a second promise, which must be awaited, or its rejection ends the process. */
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
