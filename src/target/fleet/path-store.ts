/**
 * The path indexes of a worker's minions. First use reads every minion once; each refresh updates one minion. At the bound the
 * path used longest ago is removed. Works in small steps, so that the caller can pause. Pure.
 */
import { targetIndexBytesMax, targetPathsMax } from "../../limits.ts";
import type { Datum, DatumMap } from "../facts.ts";
import { Bitmap } from "./bitmap.ts";
import { firstKeys, type Path, type Root } from "./path.ts";
import { PathIndex } from "./path-index.ts";

/** Top-level entries of grains and pillar that some path reads. */
export type Wanted = Readonly<Record<Root, "all" | ReadonlySet<Datum>>>;
/** The wanted grains and pillar; undefined if the minion never sent any. */
export type FactsPart = Readonly<Record<Root, DatumMap>> | undefined;
/** Reads a minion's facts. */
export type ReadFacts = (minion: number, wanted: Wanted) => FactsPart;

type Entry = { readonly index: PathIndex; scan: Scan | undefined };
/** One pass over every minion, for the paths of one `open`. */
type Scan = { readonly indexes: readonly PathIndex[]; readonly wanted: Wanted; nextMinion: number };

/** Minions read between two pauses: about 0.2 ms. */
const minionsPerStep = 16;
const opensPerSizeCheck = 64;

export class PathStore {
  readonly counters = { pathsBuilt: 0, pathsEvicted: 0, pathsOverfull: 0 };
  readonly #live: Bitmap;
  readonly #read: ReadFacts;
  /** In order of last use, the latest last. */
  readonly #entries = new Map<string, Entry>();
  /** Minions without known facts. Complete after the first scan. */
  readonly #unknown = new Bitmap();
  #firstScan: Scan | undefined;
  #hasBegun = false;
  #isKnownComplete = false;
  /** Minions added after the first scan began, not yet in any index. */
  readonly #unread = new Set<number>();
  #wantedByAll: Wanted | undefined;
  #opens = 0;

  constructor(live: Bitmap, read: ReadFacts) {
    this.#live = live;
    this.#read = read;
  }

  get pathCount(): number {
    return this.#entries.size;
  }

  /** Bytes of all indexes, estimated. */
  get bytes(): number {
    let total = 0;
    for (const { index } of this.#entries.values()) total += index.bytes;
    return total;
  }

  /** Returns the indexes of these paths and builds missing ones. An index over its bound is undefined. */
  *open(paths: readonly Path[]): Generator<void, (PathIndex | undefined)[]> {
    yield* this.#readNew();
    const missing = paths.filter((path) => !this.#entries.has(path.text));
    if (missing.length > 0) this.#begin(missing);
    const entries = paths.map((path) => this.#touched(path));
    for (const entry of entries) if (entry?.scan !== undefined) yield* this.#finish(entry.scan);
    this.#opens += 1;
    if (missing.length > 0 || this.#opens % opensPerSizeCheck === 0)
      this.#evict(new Set(paths.map((path) => path.text)));
    return entries.map((entry) => (entry?.index.isOverfull === false ? entry.index : undefined));
  }

  /** Minions without known facts. Callers must not change the result. */
  *unknown(): Generator<void, Bitmap> {
    if (!this.#isKnownComplete) {
      this.#firstScan ??= scanFor([]);
      yield* this.#finish(this.#firstScan);
    }
    yield* this.#readNew();
    return this.#unknown;
  }

  /** Adds a new minion. */
  add(minion: number): void {
    if (this.#hasBegun) this.#unread.add(minion);
  }

  remove(minion: number): void {
    this.#unread.delete(minion);
    this.#unknown.delete(minion);
    for (const { index } of this.#entries.values()) index.set(minion, undefined);
  }

  /** Reads the minion's changed facts into every index. */
  refresh(minion: number): void {
    // If this read fails, the next query repeats it.
    if (this.#hasBegun) this.#unread.add(minion);
    this.#wantedByAll ??= wantedBy(Array.from(this.#entries.values(), ({ index }) => index));
    const facts = this.#read(minion, this.#wantedByAll);
    this.#unread.delete(minion);
    this.#noteKnown(minion, facts);
    for (const { index } of this.#entries.values()) index.set(minion, facts?.[index.path.root]);
  }

  #noteKnown(minion: number, facts: FactsPart): void {
    if (facts === undefined) this.#unknown.add(minion);
    else this.#unknown.delete(minion);
  }

  #begin(paths: readonly Path[]): void {
    const indexes = new Map(paths.map((path) => [path.text, new PathIndex(path)]));
    const scan = scanFor([...indexes.values()]);
    for (const [text, index] of indexes) this.#entries.set(text, { index, scan });
    this.#wantedByAll = undefined;
    this.counters.pathsBuilt += indexes.size;
  }

  #touched(path: Path): Entry | undefined {
    const entry = this.#entries.get(path.text);
    if (entry === undefined) return undefined;
    this.#entries.delete(path.text);
    this.#entries.set(path.text, entry);
    return entry;
  }

  /** Several callers may advance one scan; each reads the next minions. */
  *#finish(scan: Scan): Generator<void, void> {
    this.#hasBegun = true;
    while (scan.nextMinion < this.#live.words.length * 32) {
      this.#scanSome(scan);
      yield;
    }
    this.#isKnownComplete = true;
    for (const entry of this.#entries.values()) {
      if (entry.scan !== scan) continue;
      entry.scan = undefined;
      if (entry.index.isOverfull) this.counters.pathsOverfull += 1;
    }
  }

  #scanSome(scan: Scan): void {
    const end = this.#live.words.length * 32;
    let minionsLeft = minionsPerStep;
    while (minionsLeft > 0 && scan.nextMinion < end) {
      const minion = scan.nextMinion;
      const isLive = this.#live.has(minion);
      const facts = isLive ? this.#read(minion, scan.wanted) : undefined;
      // Done after the read, so that the next query repeats a failed one.
      scan.nextMinion += 1;
      if (!isLive) continue;
      minionsLeft -= 1;
      this.#noteKnown(minion, facts);
      for (const index of scan.indexes) index.set(minion, facts?.[index.path.root]);
    }
  }

  *#readNew(): Generator<void, void> {
    let untilPause = minionsPerStep;
    for (const minion of this.#unread) {
      this.refresh(minion);
      untilPause -= 1;
      if (untilPause > 0) continue;
      untilPause = minionsPerStep;
      yield;
    }
  }

  #evict(inUse: ReadonlySet<string>): void {
    let bytes = this.bytes;
    for (const [text, { index, scan }] of this.#entries) {
      if (this.#entries.size <= targetPathsMax && bytes <= targetIndexBytesMax) return;
      if (inUse.has(text) || scan !== undefined) continue;
      bytes -= index.bytes;
      this.#entries.delete(text);
      this.#wantedByAll = undefined;
      this.counters.pathsEvicted += 1;
    }
  }
}

function scanFor(indexes: readonly PathIndex[]): Scan {
  return { indexes, wanted: wantedBy(indexes), nextMinion: 0 };
}

function wantedBy(indexes: readonly PathIndex[]): Wanted {
  const of = (root: Root): "all" | ReadonlySet<Datum> => {
    const keys = indexes.filter(({ path }) => path.root === root).map(({ path }) => firstKeys(path));
    return keys.includes(undefined) ? "all" : new Set(keys.flatMap((some) => some ?? []));
  };
  return { grains: of("grains"), pillar: of("pillar") };
}
