/**
 * Grains and pillar of this worker's minions, for targets. The index reads them from the store when it is built; each refresh updates it.
 * Only the index keeps decoded values: as objects, a fleet's grains are gigabytes.
 */
import { SaltworksError } from "../../errors.ts";
import type { MinionData } from "../../store/minions/data.ts";
import type { DatumMap, Facts } from "../../target/facts.ts";
import { FleetIndex } from "../../target/fleet/fleet-index.ts";
import type { FactsPart, Wanted } from "../../target/fleet/path-store.ts";
import { decode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

type Stored = { readonly grains: Uint8Array; readonly pillar: Uint8Array };

export class MinionFacts {
  /** Made at the first target, then told of every change. */
  index: FleetIndex | undefined;
  readonly #minions: MinionData;
  readonly #count: (name: string) => void;
  /** What the store is writing; `stored` is undefined while it removes. */
  readonly #pending = new Map<string, { readonly stored: Stored | undefined }>();

  constructor(minions: MinionData, count: (name: string) => void) {
    this.#minions = minions;
    this.#count = count;
  }

  /** @param accepted this worker's minions, read in slices; minions that are accepted meanwhile are included */
  openIndex(accepted: Iterator<string>): FleetIndex {
    const source = { part: (id: string, wanted: Wanted) => this.#part(id, wanted), whole: (id: string) => this.of(id) };
    this.index = new FleetIndex(source, accepted);
    return this.index;
  }

  /** Undefined if the minion never sent any. */
  of(id: string): Facts | undefined {
    const stored = this.stored(id);
    if (stored === undefined) return undefined;
    return { id, grains: this.#readable(stored.grains, decodeMap), pillar: this.#readable(stored.pillar, decodeMap) };
  }

  /** Stores both maps (new flavour) and updates the index. Resolves when they are committed. */
  async keep(id: string, grains: Uint8Array, pillar: Uint8Array): Promise<void> {
    const write = this.#minions.putGrains(id, grains, pillar);
    await this.#whilePending(id, { grains, pillar }, write);
  }

  /** The minion's key was accepted: its stored facts count. */
  accept(id: string): void {
    this.index?.add(id);
  }

  /** Keys of this worker's minions came or went. */
  noteKeys(added: readonly string[], removed: readonly string[]): void {
    for (const id of added) this.index?.add(id);
    for (const id of removed) this.index?.remove(id);
  }

  /** Removes grains and pillar; `removal` is the store's promise. */
  async drop(id: string, removal: Promise<void>): Promise<void> {
    await this.#whilePending(id, undefined, removal);
  }

  /** Tells the index at once. Until `write` settles, readers get what will be stored. */
  async #whilePending(id: string, stored: Stored | undefined, write: Promise<void>): Promise<void> {
    const pending = { stored };
    this.#pending.set(id, pending);
    this.index?.refresh(id);
    try {
      await write;
    } finally {
      if (this.#pending.get(id) === pending) this.#pending.delete(id);
    }
  }

  /** The stored facts, with writes that are still under way. */
  stored(id: string): Stored | undefined {
    const pending = this.#pending.get(id);
    return pending === undefined ? this.#minions.get(id) : pending.stored;
  }

  #part(id: string, wanted: Wanted): FactsPart {
    const stored = this.stored(id);
    if (stored === undefined) return undefined;
    return { grains: this.#wanted(stored.grains, wanted.grains), pillar: this.#wanted(stored.pillar, wanted.pillar) };
  }

  #wanted(bytes: Uint8Array, keys: Wanted["grains"]): DatumMap {
    if (keys === "all") return this.#readable(bytes, decodeMap);
    if (keys.size === 0) return nothing;
    return this.#readable(bytes, (map) => pickEntries(map, keys as ReadonlySet<Value>));
  }

  /** Grains that cannot be decoded match nothing, so that one minion's do not fail every publish. */
  #readable(bytes: Uint8Array, read: (bytes: Uint8Array) => ValueMap): ValueMap {
    try {
      return read(bytes);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
    }
    this.#count("facts.unreadable");
    return nothing;
  }
}

const nothing: ValueMap = new Map();

function decodeMap(bytes: Uint8Array): ValueMap {
  const value = decode(bytes);
  if (value instanceof Map) return value;
  throw new SaltworksError("WIRE_MALFORMED", "not a map");
}
