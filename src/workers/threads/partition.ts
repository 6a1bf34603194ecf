/** Maps minion ids to partitions by a keyed hash, so that clients cannot choose ids that pile up on one worker. */
import sodium from "sodium-native";
import { minionIdBytesMax } from "../../limits.ts";

/** Bound of the ids whose partitions are remembered. A hash costs about 1 µs, a look-up 0.1 µs. */
const rememberedMax = 250_000;

export function createPartitionKey(): Uint8Array {
  const key = Buffer.alloc(sodium.crypto_shorthash_KEYBYTES);
  sodium.randombytes_buf(key);
  return key;
}

/** Maps ids to `[0, partitionCount)`, the same in every thread that has the same key. */
export class Partitioner {
  readonly #key: Buffer;
  readonly #partitionCount: number;
  readonly #remembered = new Map<string, number>();
  readonly #hash = Buffer.alloc(sodium.crypto_shorthash_BYTES);

  constructor(key: Uint8Array, partitionCount: number) {
    this.#key = Buffer.from(key);
    this.#partitionCount = partitionCount;
  }

  partitionOf(id: string): number {
    const known = this.#remembered.get(id);
    if (known !== undefined) return known;
    sodium.crypto_shorthash(this.#hash, Buffer.from(id, "utf8"), this.#key);
    const partition = this.#hash.readUInt32LE(0) % this.#partitionCount;
    if (id.length > minionIdBytesMax) return partition;
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(id, partition);
    return partition;
  }

  /** The worker slot that owns the id's partition. */
  slotOf(id: string, slotCount: number): number {
    return this.partitionOf(id) % slotCount;
  }
}
