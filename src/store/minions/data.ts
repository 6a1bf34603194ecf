/**
 * Each minion's data in one LMDB file: grains and pillar for targeting, its mine, its sealed session key.
 * Minions can send all of it again, so a put resolves at commit: a killed master loses nothing, a loss of power the last commits.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { checkedValue, openValue } from "../disk/checked-value.ts";
import { attempt, storeFailed } from "../disk/store-error.ts";
import {
  type BinaryEnvironment,
  closeEnvironment,
  makeDatabases,
  openDatabase,
  openEnvironment,
  putLater,
} from "../lmdb/env.ts";
import { DamagedMinions, type DataName } from "./damaged.ts";
import { ForgottenData, type ForgottenPart } from "./forgotten.ts";
import { ShareMarks } from "./share-marks.ts";

const dataFile = "data.mdb";
const directoryMode = 0o700;

export interface MinionData {
  /** Maps in the new msgpack flavour. */
  putGrains(id: string, grains: Uint8Array, pillar: Uint8Array): Promise<void>;
  get(id: string): { readonly grains: Uint8Array; readonly pillar: Uint8Array } | undefined;
  /** Ids with grains, sorted. */
  ids(): string[];
  /** Drops grains and pillar, and notes them as forgotten. `dropMine` does the same for the mine. */
  dropFacts(id: string): Promise<void>;
  putMine(id: string, mine: Uint8Array): Promise<void>;
  getMine(id: string): Uint8Array | undefined;
  /** All that is kept of the minion but its session. */
  parts(id: string): KeptParts;
  dropMine(id: string): Promise<void>;
  /** Ids with a mine, sorted. */
  mineIds(): string[];
  /** @param sealed the session key, which the caller has sealed */
  putSession(id: string, sealed: Uint8Array): Promise<void>;
  getSession(id: string): Uint8Array | undefined;
  dropSession(id: string): Promise<void>;
  /** Ids with a session. */
  sessionIds(): string[];
  /** Drops all data of this minion. `isNoted`: also notes it as forgotten. That is needless without Salt's files to take over. */
  drop(id: string, isNoted?: boolean): Promise<void>;
  /** Whether this part is noted as forgotten. */
  isForgotten(id: string, part: ForgottenPart): boolean;
  /** Ids with a part that is noted as forgotten. */
  forgottenIds(): string[];
  dropForgotten(id: string): Promise<void>;
  close(): Promise<void>;
  /** Only with `isShared`. */
  readonly marks?: ShareMarks | undefined;
}

/** Maps in the new msgpack flavour. `damaged`: what is kept and is not what was stored, and must not be removed elsewhere. */
export type KeptParts = {
  readonly grains: Uint8Array | undefined;
  readonly pillar: Uint8Array | undefined;
  readonly mine: Uint8Array | undefined;
  readonly damaged: ReadonlySet<ForgottenPart>;
};

export type MinionDataOptions = {
  readonly path: string;
  readonly isReadOnly?: boolean;
  /** Whether the master shares the data with the other members of a cluster. */
  readonly isShared?: boolean;
  /** Gets each damaged record once. Without it: a warning of the process. */
  readonly onFault?: ((error: Error) => void) | undefined;
};

/** Grains and pillar are one record, so that they are always of the same time. The length of the grains is its first field. */
const lengthBytes = 4;

/** Grains and pillar as one record. `splitFacts` splits it. */
export function joinFacts(grains: Uint8Array, pillar: Uint8Array): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(grains.byteLength);
  return Buffer.concat([length, grains, pillar]);
}

export function splitFacts(joined: Buffer | undefined) {
  if (joined === undefined) return undefined;
  const end = lengthBytes + joined.readUInt32BE(0);
  return { grains: joined.subarray(lengthBytes, end), pillar: joined.subarray(end) };
}

type Looked = { readonly bytes: Buffer | undefined; readonly isDamaged: boolean };

function partsOf(joined: Looked, mine: Looked): KeptParts {
  const damaged = new Set<ForgottenPart>();
  if (joined.isDamaged) damaged.add("facts");
  if (mine.isDamaged) damaged.add("mine");
  const { grains, pillar } = splitFacts(joined.bytes) ?? { grains: undefined, pillar: undefined };
  return { grains, pillar, mine: mine.bytes, damaged };
}

function keyOf(id: string): Buffer {
  return Buffer.from(id, "utf8");
}

function reading<Result>(step: () => Result): Result {
  return attempt("the minions' data cannot be read", step);
}

const nothing: MinionData = {
  putGrains: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  get: () => undefined,
  ids: () => [],
  dropFacts: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  putMine: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  getMine: () => undefined,
  parts: () => ({ grains: undefined, pillar: undefined, mine: undefined, damaged: new Set() }),
  dropMine: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  mineIds: () => [],
  putSession: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  getSession: () => undefined,
  sessionIds: () => [],
  dropSession: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  drop: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  isForgotten: () => false,
  forgottenIds: () => [],
  dropForgotten: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  close: () => Promise.resolve(),
};

function databasesOf(environment: BinaryEnvironment) {
  return {
    facts: openDatabase(environment, "facts"),
    mines: openDatabase(environment, "mines"),
    sessions: openDatabase(environment, "sessions"),
  };
}

/**
 * Opens the store in the directory `path`, or makes it. Several threads may have it open. With `isReadOnly`, a missing store reads as empty.
 *
 * @throws SaltworksError STORE_FAILED
 */
export function openMinionData(o: MinionDataOptions): MinionData {
  const isReadOnly = o.isReadOnly ?? false;
  const file = join(o.path, dataFile);
  if (isReadOnly && !existsSync(file)) return nothing;
  if (!isReadOnly)
    attempt(`${o.path} cannot be made`, () => mkdirSync(o.path, { recursive: true, mode: directoryMode }));
  const environment = openEnvironment({ file, isReadOnly, isSyncedOnCommit: false });
  const openAll = () => databasesOf(environment);
  const { facts, mines, sessions } = isReadOnly ? openAll() : makeDatabases(environment, openAll);
  const forgotten = isReadOnly ? undefined : new ForgottenData(environment);
  const later = <Result>(bytes: number, write: () => Promise<Result>) =>
    putLater(environment, { records: 5, bytes }, write);
  const put = async (database: typeof facts, id: string, value: Uint8Array) => {
    const key = keyOf(id);
    await later(key.byteLength + value.byteLength, () => database.put(key, checkedValue(key, value)));
  };
  const damage = new DamagedMinions(o.path, o.onFault);
  const look = (database: typeof facts, id: string, name: DataName): Looked => {
    const key = keyOf(id);
    const value = reading(() => {
      database.resetReadTxn();
      return database.getBinary(key);
    });
    const bytes = value === undefined ? undefined : openValue(key, value);
    const isDamaged = value !== undefined && bytes === undefined;
    if (isDamaged) damage.note(id, name);
    return { bytes, isDamaged };
  };
  // A damaged record counts as absent. The minion sends the data again.
  const get = (database: typeof facts, id: string, name: DataName) => look(database, id, name).bytes;
  const idsIn = (database: typeof facts) =>
    reading(() => {
      database.resetReadTxn();
      return Array.from(database.getKeys(), (key) => key.toString("utf8"));
    });
  return {
    putGrains: (id, grains, pillar) => put(facts, id, joinFacts(grains, pillar)),
    get: (id) => splitFacts(get(facts, id, "grains and pillar")),
    parts: (id) => partsOf(look(facts, id, "grains and pillar"), look(mines, id, "mine")),
    ids: () => idsIn(facts),
    dropFacts: async (id) => {
      await later(0, () => Promise.all([forgotten?.note(id, "facts"), facts.remove(keyOf(id))]));
    },
    putMine: (id, mine) => put(mines, id, mine),
    getMine: (id) => get(mines, id, "mine"),
    dropMine: async (id) => {
      await later(0, () => Promise.all([forgotten?.note(id, "mine"), mines.remove(keyOf(id))]));
    },
    mineIds: () => idsIn(mines),
    putSession: (id, sealed) => put(sessions, id, sealed),
    getSession: (id) => get(sessions, id, "session"),
    sessionIds: () => idsIn(sessions),
    dropSession: async (id) => {
      await later(0, () => sessions.remove(keyOf(id)));
    },
    drop: async (id, isNoted = true) => {
      const removals = () => [facts, mines, sessions].map((database) => database.remove(keyOf(id)));
      const notes = () => (isNoted ? [forgotten?.note(id, "facts"), forgotten?.note(id, "mine")] : []);
      await later(0, () => Promise.all([...notes(), ...removals()]));
    },
    isForgotten: (id, part) => reading(() => forgotten?.has(id, part) === true),
    forgottenIds: () => reading(() => forgotten?.ids() ?? []),
    dropForgotten: (id) => later(0, async () => forgotten?.remove(id)),
    marks: o.isShared === true ? new ShareMarks(environment, { facts, mine: mines }) : undefined,
    close: () => closeEnvironment(environment),
  };
}
