/**
 * Matches a target against a whole fleet at once: each minion has a small number, each term gives a set of numbers, and the target combines
 * the sets. Its results equal those of evaluating each minion in turn (../expected.ts). Pure; callers may pause it at any step.
 */

import { targetPathsTogetherMax } from "../../limits.ts";
import { networkHoldsText } from "../../python/ipaddress.ts";
import type { Tree } from "../compound.ts";
import type { Facts } from "../facts.ts";
import { type Term, termMatches } from "../term.ts";
import { Bitmap } from "./bitmap.ts";
import { firstPaths, matchReadings } from "./nested-plan.ts";
import { type Path, pathOf } from "./path.ts";
import { type FactsPart, PathStore, type Wanted } from "./path-store.ts";
import { TextTable } from "./text-table.ts";

export type FactsSource = {
  /** The wanted grains and pillar; undefined if the minion never sent any. */
  part(id: string, wanted: Wanted): FactsPart;
  whole(id: string): Facts | undefined;
};

/** Minions evaluated one by one between two pauses. */
const askedPerStep = 4;
const admittedPerStep = 512;
/** Terms combined between two pauses. */
const termsPerStep = 32;

export class FleetIndex {
  readonly #ids = new TextTable();
  readonly #live = new Bitmap();
  readonly #paths: PathStore;
  readonly #source: FactsSource;
  /** Accepted ids without a number yet; numbering 100,000 takes many steps. */
  readonly #incoming = new Set<string>();
  /** Ids accepted before the index was made that have no number yet. */
  #initial: Iterator<string> | undefined;
  #termsAsked = 0;
  #terms = 0;
  #numbered: number[] = [];

  constructor(source: FactsSource, initial: Iterator<string>) {
    this.#source = source;
    this.#initial = initial;
    this.#paths = new PathStore(this.#live, (minion, wanted) => source.part(this.#ids.textOf(minion), wanted));
  }

  get counters() {
    return { ...this.#paths.counters, termsAskedOfEach: this.#termsAsked };
  }

  /** Current sizes; `bytes` is an estimate. */
  get gauges() {
    return { minions: this.#ids.size, paths: this.#paths.pathCount, bytes: Math.round(this.#paths.bytes) };
  }

  idOf(minion: number): string {
    return this.#ids.textOf(minion);
  }

  /** Returns the numbers assigned to minions since the last call. */
  takeNumbered(): readonly number[] {
    const numbered = this.#numbered;
    if (numbered.length > 0) this.#numbered = [];
    return numbered;
  }

  add(id: string): void {
    if (this.#ids.find(id) === undefined) this.#incoming.add(id);
  }

  remove(id: string): void {
    this.#incoming.delete(id);
    const minion = this.#ids.find(id);
    if (minion === undefined) return;
    this.#live.delete(minion);
    this.#paths.remove(minion);
    this.#ids.release(minion);
  }

  /** Reads the minion's changed grains or pillar. */
  refresh(id: string): void {
    const minion = this.#ids.find(id);
    if (minion !== undefined) this.#paths.refresh(minion);
  }

  /** Returns the numbers of the minions that match. Terms that need unknown facts are true if `isGreedy`, else false. */
  *match(tree: Tree, isGreedy = true): Generator<void, Bitmap> {
    yield* this.#admit();
    const paths = new Map<string, Path>();
    gatherPaths(tree, paths);
    if (paths.size > 1) yield* this.#paths.open([...paths.values()]);
    const found = (yield* this.#evaluate(tree, isGreedy)).copy();
    found.retainAll(this.#live);
    return found;
  }

  *#admit(): Generator<void, void> {
    let untilPause = admittedPerStep;
    for (let id = this.#nextIncoming(); id !== undefined; id = this.#nextIncoming()) {
      if (this.#ids.find(id) !== undefined) continue;
      const minion = this.#ids.number(id);
      this.#live.add(minion);
      this.#numbered.push(minion);
      this.#paths.add(minion);
      untilPause -= 1;
      if (untilPause > 0) continue;
      untilPause = admittedPerStep;
      yield;
    }
  }

  #nextIncoming(): string | undefined {
    for (const id of this.#incoming) {
      this.#incoming.delete(id);
      return id;
    }
    const next = this.#initial?.next();
    if (next?.done === false) return next.value;
    this.#initial = undefined;
    return undefined;
  }

  /** The result may be part of an index: callers must not change it. */
  *#evaluate(tree: Tree, isGreedy: boolean): Generator<void, Bitmap> {
    switch (tree.kind) {
      case "term":
        return yield* this.#term(tree.term, isGreedy);
      case "not": {
        const excluded = yield* this.#evaluate(tree.inner, isGreedy);
        const result = this.#live.copy();
        result.removeAll(excluded);
        return result;
      }
      case "and": {
        let result: Bitmap | undefined;
        for (const item of tree.items) {
          const holding = yield* this.#evaluate(item, isGreedy);
          if (result === undefined) result = holding.copy();
          else result.retainAll(holding);
          if (result.isEmpty) return result;
        }
        return result ?? this.#live;
      }
      case "or": {
        const result = new Bitmap();
        for (const item of tree.items) result.addAll(yield* this.#evaluate(item, isGreedy));
        return result;
      }
      default:
        return new Bitmap();
    }
  }

  *#term(term: Term, isGreedy: boolean): Generator<void, Bitmap> {
    this.#terms += 1;
    if (this.#terms % termsPerStep === 0) yield;
    switch (term.kind) {
      case "glob":
        if (term.text === "*") return this.#live;
        if (!/[*?[]/.test(term.text)) return this.#listed([term.text]);
        return yield* this.#ids.passing(`glob ${term.text}`, (id) => term.glob.matches(id));
      case "pcre":
        return yield* this.#ids.passing(`pcre ${term.text}`, (id) => term.pattern.matchesStart(id));
      case "list":
        return this.#listed(term.ids);
      case "grains":
      case "pillar": {
        const found = yield* matchReadings(term.kind, term.query, (paths) => this.#paths.open(paths));
        if (found === undefined) return yield* this.#askEach(term, isGreedy);
        return isGreedy ? unionOf([yield* this.#paths.unknown(), ...found]) : unionOf(found);
      }
      case "address":
      case "network":
        return yield* this.#addressed(term, isGreedy);
      case "data":
        // The master never has a minion's own data store.
        return isGreedy ? yield* this.#paths.unknown() : new Bitmap();
      default:
        return new Bitmap();
    }
  }

  #listed(ids: Iterable<string>): Bitmap {
    const result = new Bitmap();
    for (const id of ids) {
      const minion = this.#ids.find(id);
      if (minion !== undefined) result.add(minion);
    }
    return result;
  }

  *#addressed(term: Extract<Term, { kind: "address" | "network" }>, isGreedy: boolean): Generator<void, Bitmap> {
    const network =
      term.kind === "network" ? term.network : { ...term.address, prefixBits: hostBits[term.address.family] };
    const [index] = yield* this.#paths.open([addressPath(network.family)]);
    if (index === undefined) return yield* this.#askEach(term, isGreedy);
    const name = `net ${network.value}/${network.prefixBits}`;
    const found = yield* index.texts.passing(name, (text) => networkHoldsText(network, text));
    return isGreedy ? unionOf([yield* this.#paths.unknown(), found]) : found;
  }

  /** Evaluates a term without an index: reads and decodes each minion's facts. */
  *#askEach(term: Term, isGreedy: boolean): Generator<void, Bitmap> {
    this.#termsAsked += 1;
    const result = new Bitmap();
    let untilPause = askedPerStep;
    for (let minion = 0; minion < this.#live.words.length * 32; minion += 1) {
      if (!this.#live.has(minion)) continue;
      const facts = this.#source.whole(this.idOf(minion));
      if (facts === undefined ? isGreedy : termMatches(term, facts)) result.add(minion);
      untilPause -= 1;
      if (untilPause > 0) continue;
      untilPause = askedPerStep;
      yield;
    }
    return result;
  }
}

/** Returns the only filled set itself if the others are empty. */
function unionOf(sets: readonly Bitmap[]): Bitmap {
  const filled = sets.filter((set) => !set.isEmpty);
  const [first, second] = filled;
  if (first === undefined) return new Bitmap();
  if (second === undefined) return first;
  const result = first.copy();
  for (const set of filled) if (set !== first) result.addAll(set);
  return result;
}

const hostBits = { 4: 32, 6: 128 } as const;

function addressPath(family: 4 | 6): Path {
  return pathOf("grains", [{ kind: "key", name: `ipv${family}` }]);
}

function gatherPaths(tree: Tree, into: Map<string, Path>): void {
  if (into.size >= targetPathsTogetherMax) return;
  if (tree.kind === "not") gatherPaths(tree.inner, into);
  if (tree.kind === "and" || tree.kind === "or") for (const item of tree.items) gatherPaths(item, into);
  if (tree.kind !== "term") return;
  for (const path of pathsOf(tree.term)) if (into.size < targetPathsTogetherMax) into.set(path.text, path);
}

function pathsOf(term: Term): readonly Path[] {
  if (term.kind === "grains" || term.kind === "pillar") return firstPaths(term.kind, term.query);
  if (term.kind === "address") return [addressPath(term.address.family)];
  return term.kind === "network" ? [addressPath(term.network.family)] : [];
}
