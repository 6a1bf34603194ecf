/**
 * What the master keeps of each minion: grains and pillar for targeting, its mine, its sealed session key. One LMDB file.
 * Minions can send all of it again, so a put resolves at commit: a killed master loses nothing, a loss of power the last moments.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { checkedValue, openValue } from "../disk/checked-value.ts";
import { attempt, storeFailed } from "../disk/store-error.ts";
import { closeEnvironment, makeDatabases, openDatabase, openEnvironment, putLater } from "../lmdb/env.ts";
import { ForgottenData, type ForgottenPart } from "./forgotten.ts";

const dataFile = "data.mdb";
const directoryMode = 0o700;

export interface MinionData {
  /** Maps in the new msgpack flavour. */
  putGrains(id: string, grains: Uint8Array, pillar: Uint8Array): Promise<void>;
  get(id: string): { readonly grains: Uint8Array; readonly pillar: Uint8Array } | undefined;
  /** Ids with grains, sorted. */
  ids(): string[];
  /** Noted as forgotten, as in `dropMine` and `drop`. */
  dropFacts(id: string): Promise<void>;
  putMine(id: string, mine: Uint8Array): Promise<void>;
  getMine(id: string): Uint8Array | undefined;
  dropMine(id: string): Promise<void>;
  /** Ids with a mine, sorted. */
  mineIds(): string[];
  /** A session key, sealed by the caller. */
  putSession(id: string, sealed: Uint8Array): Promise<void>;
  getSession(id: string): Uint8Array | undefined;
  dropSession(id: string): Promise<void>;
  /** Ids with a session. */
  sessionIds(): string[];
  /** Drops everything of this minion. `isNoted`: also notes it as forgotten, which is needless if nothing could bring the data back. */
  drop(id: string, isNoted?: boolean): Promise<void>;
  /** Whether an operator dropped this part. */
  isForgotten(id: string, part: ForgottenPart): boolean;
  /** Ids of which something was dropped. */
  forgottenIds(): string[];
  dropForgotten(id: string): Promise<void>;
  close(): Promise<void>;
}

/** Length of the grains first, so that both travel in one record and are never of different times. */
const lengthBytes = 4;

function joinFacts(grains: Uint8Array, pillar: Uint8Array): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(grains.byteLength);
  return Buffer.concat([length, grains, pillar]);
}

const nothing: MinionData = {
  putGrains: () => Promise.reject(storeFailed("opened for reading", undefined)),
  get: () => undefined,
  ids: () => [],
  dropFacts: () => Promise.reject(storeFailed("opened for reading", undefined)),
  putMine: () => Promise.reject(storeFailed("opened for reading", undefined)),
  getMine: () => undefined,
  dropMine: () => Promise.reject(storeFailed("opened for reading", undefined)),
  mineIds: () => [],
  putSession: () => Promise.reject(storeFailed("opened for reading", undefined)),
  getSession: () => undefined,
  sessionIds: () => [],
  dropSession: () => Promise.reject(storeFailed("opened for reading", undefined)),
  drop: () => Promise.reject(storeFailed("opened for reading", undefined)),
  isForgotten: () => false,
  forgottenIds: () => [],
  dropForgotten: () => Promise.reject(storeFailed("opened for reading", undefined)),
  close: () => Promise.resolve(),
};

/**
 * Opens or makes the directory `path`. Many threads may have it open; read-only, one that isn't there reads as empty.
 *
 * @throws SaltworksError STORE_FAILED
 */
export function openMinionData(o: { readonly path: string; readonly isReadOnly?: boolean }): MinionData {
  const isReadOnly = o.isReadOnly ?? false;
  const file = join(o.path, dataFile);
  if (isReadOnly && !existsSync(file)) return nothing;
  if (!isReadOnly) mkdirSync(o.path, { recursive: true, mode: directoryMode });
  const environment = openEnvironment({ file, isReadOnly, isSyncedOnCommit: false });
  const openAll = () => ({
    facts: openDatabase(environment, "facts"),
    mines: openDatabase(environment, "mines"),
    sessions: openDatabase(environment, "sessions"),
  });
  const { facts, mines, sessions } = isReadOnly ? openAll() : makeDatabases(environment, openAll);
  const forgotten = isReadOnly ? undefined : new ForgottenData(environment);
  const keyOf = (id: string) => Buffer.from(id, "utf8");
  const later = <Result>(bytes: number, write: () => Promise<Result>) =>
    putLater(environment, { records: 5, bytes }, write);
  const put = async (database: typeof facts, id: string, value: Uint8Array) => {
    const key = keyOf(id);
    await later(key.byteLength + value.byteLength, () => database.put(key, checkedValue(key, value)));
  };
  const reading = <Result>(step: () => Result) => attempt("the minions' data cannot be read", step);
  const get = (database: typeof facts, id: string) => {
    const key = keyOf(id);
    const value = reading(() => {
      database.resetReadTxn();
      return database.getBinary(key);
    });
    // Damaged data counts as absent: the minion is asked for it again.
    return value === undefined ? undefined : openValue(key, value);
  };
  const idsIn = (database: typeof facts) =>
    reading(() => {
      database.resetReadTxn();
      return Array.from(database.getKeys(), (key) => key.toString("utf8"));
    });
  return {
    putGrains: (id, grains, pillar) => put(facts, id, joinFacts(grains, pillar)),
    get: (id) => {
      const joined = get(facts, id);
      if (joined === undefined) return undefined;
      const end = lengthBytes + joined.readUInt32BE(0);
      return { grains: joined.subarray(lengthBytes, end), pillar: joined.subarray(end) };
    },
    ids: () => idsIn(facts),
    dropFacts: async (id) => {
      await later(0, () => Promise.all([forgotten?.note(id, "facts"), facts.remove(keyOf(id))]));
    },
    putMine: (id, mine) => put(mines, id, mine),
    getMine: (id) => get(mines, id),
    dropMine: async (id) => {
      await later(0, () => Promise.all([forgotten?.note(id, "mine"), mines.remove(keyOf(id))]));
    },
    mineIds: () => idsIn(mines),
    putSession: (id, sealed) => put(sessions, id, sealed),
    getSession: (id) => get(sessions, id),
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
    close: () => closeEnvironment(environment),
  };
}
