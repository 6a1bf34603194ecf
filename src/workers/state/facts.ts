/**
 * Grains and pillar of this worker's minions, for targets. The index reads them from the store when it is built, and each refresh updates it.
 * Only the index keeps decoded values, because a fleet's grains take gigabytes as objects.
 */
import { SaltworksError } from "../../errors.ts";
import type { MinionData } from "../../store/minions/data.ts";
import type { DatumMap, Facts } from "../../target/facts.ts";
import { FleetIndex } from "../../target/fleet/fleet-index.ts";
import type { FactsPart, Wanted } from "../../target/fleet/path-store.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

type Stored = { readonly grains: Uint8Array; readonly pillar: Uint8Array };

export class MinionFacts {
  /** Made for the first target, then updated at every change. */
  index: FleetIndex | undefined;
  readonly #minions: MinionData;
  readonly #count: (name: string) => void;
  /** By id: the facts that the store is writing; `stored` is undefined while it removes them. */
  readonly #pending = new Map<string, { readonly stored: Stored | undefined }>();

  constructor(minions: MinionData, count: (name: string) => void) {
    this.#minions = minions;
    this.#count = count;
  }

  /** @param accepted this worker's minions. They are read in slices; minions that are accepted meanwhile are included. */
  openIndex(accepted: Iterator<string>): FleetIndex {
    const source = { part: (id: string, wanted: Wanted) => this.#part(id, wanted), whole: (id: string) => this.of(id) };
    this.index = new FleetIndex(source, accepted);
    return this.index;
  }

  /** The decoded facts of a minion; undefined if it never sent any. */
  of(id: string): Facts | undefined {
    const part = this.#part(id, { grains: "all", pillar: "all" });
    return part && { id, ...part };
  }

  /** Stores both maps (new flavour) and updates the index. Resolves when both are committed. */
  async keep(id: string, grains: Uint8Array, pillar: Uint8Array): Promise<void> {
    const write = this.#minions.putGrains(id, grains, pillar);
    await this.#whilePending(id, { grains, pillar }, write);
  }

  /** As `keep`, for facts that another member of the cluster sent. `write`: the store's promise. */
  async take(id: string, stored: Stored, write: Promise<void>): Promise<void> {
    await this.#whilePending(id, stored, write);
  }

  /** Adds a minion whose key was accepted to the index, with its stored facts. */
  accept(id: string): void {
    this.index?.add(id);
  }

  /** Updates the index after keys of this worker's minions were added or removed. */
  noteKeys(added: readonly string[], removed: readonly string[]): void {
    for (const id of added) this.index?.add(id);
    for (const id of removed) this.index?.remove(id);
  }

  /** Removes grains and pillar from the index. `removal`: the store's promise for their removal. */
  async drop(id: string, removal: Promise<void>): Promise<void> {
    await this.#whilePending(id, undefined, removal);
  }

  /** Updates the index at once. Until `write` settles, readers get the facts that are being written. */
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

  /** The minion's stored facts. If a write is under way: the facts that it writes. */
  stored(id: string): Stored | undefined {
    const pending = this.#pending.get(id);
    return pending === undefined ? this.#minions.get(id) : pending.stored;
  }

  #part(id: string, wanted: Wanted): FactsPart {
    const stored = this.stored(id);
    if (stored === undefined) return undefined;
    // Minions send their grains; the master renders pillars.
    return {
      grains: this.#wanted(stored.grains, wanted.grains, DecodeBudget.ofRequest()),
      pillar: this.#wanted(stored.pillar, wanted.pillar, new DecodeBudget()),
    };
  }

  #wanted(bytes: Uint8Array, keys: Wanted["grains"], budget: DecodeBudget): DatumMap {
    if (keys === "all") return this.#readable(bytes, (map) => decodeMap(map, budget));
    if (keys.size === 0) return nothing;
    return this.#readable(bytes, (map) => pickEntries(map, keys as ReadonlySet<Value>, budget));
  }

  /** Reads a map. One that cannot be decoded reads as empty, so that one minion's facts do not fail every publish. */
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

function decodeMap(bytes: Uint8Array, budget: DecodeBudget): ValueMap {
  const value = decode(bytes, "text", budget);
  if (value instanceof Map) return value;
  throw new SaltworksError("WIRE_MALFORMED", "not a map");
}
