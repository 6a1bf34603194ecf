/**
 * Takes over what a Salt master kept of its minions: grains, pillars and mines, out of its files into our store, before a port opens, so
 * that the first target is decided by them. Files older than this master's last sign of life are its own or outdated; these, and
 * all where such a sign is missing, fill only what our store never had: an empty pillar is one, and what an operator cleared stays so.
 */
import { takeOverAtOnce, takeOverProgressMs } from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import type { MinionData } from "../minions/data.ts";
import { type FileTimes, hasMinionFiles, type Kind, readMinionFiles } from "./minion-files.ts";

export type TakeOverOptions = {
  readonly cachedir: string;
  /** Of minions whose keys are accepted. */
  readonly ids: readonly string[];
  readonly minions: Pick<
    MinionData,
    "get" | "getMine" | "putGrains" | "putMine" | "isForgotten" | "forgottenIds" | "dropForgotten"
  >;
  /** Until then this master may have written: later files replace what our store has. 0: nothing tells, and none does. */
  readonly sinceMs: number;
  /** When the files were last read: files that were copied in later, whatever their own time, fill what our store never had. */
  readonly readMs: number;
  /** Whether the minion's files of that time are older than our store's data: they were to be written when the master ended. */
  readonly isOutdated: (id: string) => boolean;
  /** What is kept of minions at all. */
  readonly keeps: { readonly facts: boolean; readonly mines: boolean };
  readonly onProgress: (done: number, all: number) => void;
  /** Gets each file that cannot be read; it is left out. */
  readonly onFault: (fault: { readonly file: string; readonly reason: string }) => void;
};
export type TakenOver = { facts: number; mines: number; faults: number };

const emptyMap = encode(new Map(), "bin");

/** @throws SaltworksError STORE_FAILED if our own store fails */
export async function takeOverMinionData(o: TakeOverOptions): Promise<TakenOver> {
  const taken: TakenOver = { facts: 0, mines: 0, faults: 0 };
  let progressMs = performance.now();
  for (let at = 0; at < o.ids.length; at += takeOverAtOnce) {
    const writes = o.ids.slice(at, at + takeOverAtOnce).flatMap((id) => takeMinion(o, id, taken));
    await Promise.all(writes);
    if (performance.now() - progressMs < takeOverProgressMs) continue;
    progressMs = performance.now();
    o.onProgress(at + takeOverAtOnce, o.ids.length);
  }
  await dropNeedless(o);
  return taken;
}

/** Forgets that a minion's data was dropped once its key is gone and Salt has no files of it. */
async function dropNeedless({ cachedir, ids, minions }: TakeOverOptions): Promise<void> {
  const accepted = new Set(ids);
  const gone = minions.forgottenIds().filter((id) => !accepted.has(id) && !hasMinionFiles(cachedir, id));
  for (let at = 0; at < gone.length; at += takeOverAtOnce)
    await Promise.all(gone.slice(at, at + takeOverAtOnce).map((id) => minions.dropForgotten(id)));
}

function takeMinion(o: TakeOverOptions, id: string, taken: TakenOver): Promise<void>[] {
  const stored = o.minions.get(id);
  const { parts, faults } = readMinionFiles(o.cachedir, id, wanted(o, id, stored));
  taken.faults += faults.length;
  faults.forEach(o.onFault);
  const writes: Promise<void>[] = [];
  // What the mirror wrote is the same as what is stored.
  const unlessSame = (part: Uint8Array | undefined, own: Uint8Array | undefined) =>
    part !== undefined && own !== undefined && Buffer.compare(part, own) === 0 ? undefined : part;
  const grains = unlessSame(parts.grains, stored?.grains);
  const pillar = unlessSame(parts.pillar, stored?.pillar);
  const mine = unlessSame(parts.mine, o.minions.getMine(id));
  if (o.keeps.facts && (grains !== undefined || pillar !== undefined)) {
    taken.facts += 1;
    writes.push(o.minions.putGrains(id, grains ?? stored?.grains ?? emptyMap, pillar ?? stored?.pillar ?? emptyMap));
  }
  if (o.keeps.mines && mine !== undefined) {
    taken.mines += 1;
    writes.push(o.minions.putMine(id, mine));
  }
  return writes;
}

/** Decides which of a Salt master's files count: newer ones replace our parts, others fill parts that this store never had. */
function wanted(
  { minions, sinceMs, readMs, isOutdated }: TakeOverOptions,
  id: string,
  stored: ReturnType<MinionData["get"]>,
): (kind: Kind, times: FileTimes) => boolean {
  const lacksFacts = stored === undefined && !minions.isForgotten(id, "facts");
  const lacks = {
    grains: lacksFacts,
    pillar: lacksFacts,
    mine: minions.getMine(id) === undefined && !minions.isForgotten(id, "mine"),
  };
  const leastMs = isOutdated(id) ? Math.max(readMs, sinceMs) : readMs;
  return (kind, { mtimeMs, ctimeMs }) => {
    const isNewer = sinceMs > 0 && mtimeMs > sinceMs;
    return isNewer || (lacks[kind] && Math.max(mtimeMs, ctimeMs) > leastMs);
  };
}
