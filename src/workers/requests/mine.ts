/** `_mine`, `_mine_delete`, `_mine_flush`: values that a minion publishes for other minions. docs/protocol.md section 7.1. */
import { decode, encode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { field, fieldBytes, textOf } from "./fields.ts";

function storedMine(shard: Shard, id: string): ValueMap {
  const stored = shard.stores.minions.getMine(id);
  const value = stored && decode(stored);
  return value instanceof Map ? value : new Map();
}

function isKept(shard: Shard): boolean {
  return shard.start.config.minion_data_cache || shard.start.config.enforce_mine_cache;
}

/** Merges by function name. `clear` replaces the whole mine (Salt 3007 fails on it). */
export function handleMine(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  const packed = fieldBytes(load, entries, "data");
  if (id === undefined || packed === undefined) return { value: new Map() };
  // Refused undecoded: it is too large by itself.
  if (isKept(shard) && packed.byteLength > shard.start.config.mine_max_bytes) return refuse(shard, batch, id);
  const data = decode(packed);
  if (!(data instanceof Map)) return { value: new Map() };
  if (isKept(shard)) {
    const isReplacing = field(load, entries, "clear") === true;
    const mine = isReplacing ? new Map() : storedMine(shard, id);
    for (const [name, value] of data) mine.set(name, value);
    const bytes = encode(mine, "bin");
    const { mine_max_bytes: bytesMax, mine_max_functions: functionsMax } = shard.start.config;
    if (bytes.byteLength > bytesMax || mine.size > functionsMax) return refuse(shard, batch, id);
    batch.writes.push(shard.stores.minions.putMine(id, bytes));
  }
  return { value: true };
}

/** Leaves the mine as it is and answers False. */
function refuse(shard: Shard, batch: BatchEffects, id: string): Answer {
  shard.count("mine.tooLarge");
  batch.refuse(id, "a minion's mine is not changed: it would exceed mine_max_bytes or mine_max_functions");
  return { value: false };
}

export function handleMineDelete(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  const name = textOf(load, entries, "fun");
  if (id === undefined || name === undefined) return { value: new Map() };
  const mine = storedMine(shard, id);
  if (mine.delete(name)) batch.writes.push(shard.stores.minions.putMine(id, encode(mine, "bin")));
  return { value: true };
}

export function handleMineFlush(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  if (opened.id === undefined) return { value: new Map() };
  batch.writes.push(shard.stores.minions.putMine(opened.id, encode(new Map(), "bin")));
  return { value: true };
}
