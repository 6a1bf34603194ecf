/**
 * The returns in the files of the LMDB job cache by their keys. The writers' logs are not read, because `onStored` gets only keys of returns that are
 * already in LMDB.
 */
import { openValue } from "../../disk/checked-value.ts";
import { storeFailed } from "../../disk/store-error.ts";
import { DamageNotes } from "../../jobs/damage-notes.ts";
import type { KeyedReturn, KeyedReturns } from "../../jobs/keyed-returns.ts";
import { closeEnvironment } from "../../lmdb/env.ts";
import { readLayout } from "./layout.ts";
import {
  jidInReturnKey,
  minionIdIn,
  otherPrefix,
  type ReadShard,
  readShards,
  shardIndexOf,
  timePrefix,
} from "./records.ts";

/** Opens the files at the first use, so that the cache may be made later. */
export class LmdbKeyedReturns implements KeyedReturns {
  readonly #path: string;
  readonly #damage: DamageNotes;
  #shards: readonly ReadShard[] | undefined;

  /** @param onFault gets each damaged return once */
  constructor(path: string, onFault: (error: Error) => void) {
    this.#path = path;
    this.#damage = new DamageNotes(path, { onFault });
  }

  async refresh(): Promise<void> {
    for (const { returns } of this.#stored()) returns.resetReadTxn();
  }

  async at(returnKey: Buffer): Promise<KeyedReturn> {
    const [jid, minionId] = [jidInReturnKey(returnKey), minionIdIn(returnKey)];
    const shards = this.#stored();
    const value = shards[shardIndexOf(minionId, shards.length)]?.returns.getBinary(returnKey);
    if (value === undefined) return "gone";
    const body = openValue(returnKey, value);
    if (body !== undefined) return { jid, minionId, body };
    this.#damage.noteReturn(jid, minionId);
    return "damaged";
  }

  /** The newest of each file, and of each file the same number. Jobs whose ids are times come first; others are rare. */
  async *newest({ limit, atOnce }: { limit: number; atOnce: number }): AsyncGenerator<readonly Buffer[], void> {
    const shards = this.#present() ?? [];
    for (const shard of shards) yield* newestIn(shard, Math.floor(limit / shards.length), atOnce);
  }

  async close(): Promise<void> {
    for (const { environment } of this.#shards ?? []) await closeEnvironment(environment);
    this.#shards = undefined;
  }

  #stored(): readonly ReadShard[] {
    const shards = this.#present();
    if (shards === undefined) throw storeFailed("the job cache does not exist yet", undefined);
    return shards;
  }

  #present(): readonly ReadShard[] | undefined {
    if (this.#shards !== undefined) return this.#shards;
    const layout = readLayout(this.#path);
    if (layout !== undefined) this.#shards = readShards(this.#path, layout);
    return this.#shards;
  }
}

function* newestIn({ returns }: ReadShard, limit: number, atOnce: number): Generator<readonly Buffer[], void> {
  let count = 0;
  for (const prefix of [timePrefix, otherPrefix]) {
    let from = Buffer.from(String.fromCharCode(prefix.charCodeAt(0) + 1));
    while (count < limit) {
      returns.resetReadTxn();
      const range = { start: from, end: Buffer.from(prefix), reverse: true, exclusiveStart: true };
      const keys = Array.from(returns.getKeys({ ...range, limit: atOnce }), (key) => Buffer.from(key));
      const last = keys.at(-1);
      if (last === undefined) break;
      yield keys;
      count += keys.length;
      from = last;
    }
  }
}
