/** `_mine`, `_mine_delete`, `_mine_flush`: change a minion's mine, its values for other minions. docs/protocol.md section 7.1. */
import { encode } from "../../wire/msgpack.ts";
import { packedMembers } from "../../wire/pick.ts";
import type { Packed } from "../../wire/values.ts";
import { headOf, rawToBin } from "../../wire/walk.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { fieldBytes, scalarOf, textOf } from "./fields.ts";

/** The values stay packed: a minion may send millions of them, and no request reads one here. */
function storedMine(worker: WorkerState, id: string): Map<string, Packed> {
  const stored = worker.stores.minions.getMine(id);
  return stored !== undefined && headOf(stored, 0).kind === "map"
    ? packedMembers(stored, Number.POSITIVE_INFINITY)
    : new Map();
}

function isKept(worker: WorkerState): boolean {
  return worker.start.config.minion_data_cache || worker.start.config.enforce_mine_cache;
}

/** Merges the data into the stored mine by function name. `clear` replaces the whole mine (Salt 3007 fails on it). */
export function handleMine(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  const packed = fieldBytes(load, entries, "data");
  if (id === undefined || packed === undefined) return { value: new Map() };
  // Data that exceeds `mine_max_bytes` by itself is not decoded.
  if (isKept(worker) && packed.byteLength > worker.start.config.mine_max_bytes) return refuse(worker, batch, id);
  const head = headOf(packed, 0);
  if (head.kind !== "map") return { value: new Map() };
  if (isKept(worker)) {
    const { mine_max_bytes: bytesMax, mine_max_functions: functionsMax } = worker.start.config;
    if (head.count > functionsMax) return refuse(worker, batch, id);
    const isReplacing = scalarOf(load, entries, "clear") === true;
    const mine = isReplacing ? new Map<string, Packed>() : storedMine(worker, id);
    for (const [name, value] of packedMembers(rawToBin(packed), functionsMax)) mine.set(name, value);
    const bytes = encode(mine, "bin");
    if (bytes.byteLength > bytesMax || mine.size > functionsMax) return refuse(worker, batch, id);
    batch.writes.push(worker.stores.minions.putMine(id, bytes));
  }
  return { value: true };
}

/** Answers False. The stored mine stays as it is. */
function refuse(worker: WorkerState, batch: BatchEffects, id: string): Answer {
  worker.count("mine.tooLarge");
  batch.refuse(id, "a minion's mine is not changed: it would exceed mine_max_bytes or mine_max_functions");
  return { value: false };
}

export function handleMineDelete(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  const name = textOf(load, entries, "fun");
  if (id === undefined || name === undefined) return { value: new Map() };
  const mine = storedMine(worker, id);
  if (mine.delete(name)) batch.writes.push(worker.stores.minions.putMine(id, encode(mine, "bin")));
  return { value: true };
}

export function handleMineFlush(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  if (opened.id === undefined) return { value: new Map() };
  batch.writes.push(worker.stores.minions.putMine(opened.id, encode(new Map(), "bin")));
  return { value: true };
}
