/**
 * Copies minions' grains, pillars and mines from a Salt master's files into our store, before a port opens, so that the first target can use
 * them. A file that is newer than this master's alive mark (alive-mark.ts) replaces our data. An older file is this master's own or
 * outdated. Such a file, and every file if the mark is missing, only fills parts that our store never had. An empty pillar counts as had,
 * and so does a part that an operator cleared.
 */
import { takeOverAtOnce, takeOverProgressMs } from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import type { MinionData } from "../minions/data.ts";
import { type FileTimes, hasMinionFiles, type Kind, readMinionFiles } from "./minion-files.ts";

export type TakeOverOptions = {
  readonly cachedir: string;
  /** Ids with an accepted key. */
  readonly ids: readonly string[];
  readonly minions: Pick<
    MinionData,
    "get" | "getMine" | "putGrains" | "putMine" | "isForgotten" | "forgottenIds" | "dropForgotten"
  >;
  /** The alive mark: this master may have written files until then. Later files replace our store's data. 0: the mark is missing; no file does. */
  readonly sinceMs: number;
  /** When the files were last read. Files that changed or were copied in later fill parts that our store never had. */
  readonly readMs: number;
  /** Whether our store's data is newer than the minion's files: the master ended before it wrote them. */
  readonly isOutdated: (id: string) => boolean;
  /** Which data of minions our store keeps, by the configuration. */
  readonly keeps: { readonly facts: boolean; readonly mines: boolean };
  readonly onProgress: (done: number, all: number) => void;
  /** Gets each file that cannot be read. It is left out. */
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

/** Removes the notes of forgotten data of minions without an accepted key and without files of Salt. */
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
  // A part that the mirror wrote equals the stored one and needs no write.
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

/** Makes the test which of the minion's files count: newer files replace our parts, others fill parts that our store never had. */
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
