/** Inverted index: the minions of each distinct text, as a bitmap or, while few, as a list. Updated minion by minion. Pure. */
import { gatheredVerdictsMax } from "../../limits.ts";
import { Bitmap } from "./bitmap.ts";
import { TextTable } from "./text-table.ts";

/** Longest list of one text's minions: up to this length it is smaller than a large fleet's bitmap, and removal is fast. */
const listedMax = 512;
/** Texts whose minions are gathered between two pauses. */
const gatheredPerStep = 8_192;

type Posting = number | number[] | Bitmap;
type Gathered = { readonly minions: Bitmap; readonly edition: number };

export class Inverted {
  readonly #table = new TextTable();
  readonly #postings: (Posting | undefined)[] = [];
  /** Texts of each minion, which its next refresh replaces. */
  readonly #textsOf: (number | number[] | undefined)[] = [];
  /** Incremented by every change, which makes gathered sets stale. */
  #edition = 0;
  readonly #gathered = new Map<string, Gathered>();
  #entries = 0;
  #bitmapBytes = 0;

  /** Pairs of minion and text. */
  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    let gathered = 0;
    for (const { minions } of this.#gathered.values()) gathered += minions.byteLength;
    const forward = this.#textsOf.length * 8;
    return this.#table.bytes + this.#postings.length * 8 + forward + this.#entries * 12 + this.#bitmapBytes + gathered;
  }

  /** Replaces the minion's texts, which must be distinct. */
  set(minion: number, texts: readonly string[]): void {
    const before = this.#textsOf[minion];
    if (isSame(this.#table, before, texts)) return;
    // Adds new texts first, so that a text that stays keeps its number and verdicts.
    const numbers = texts.map((text) => this.#table.number(text));
    const kept = new Set(numbers);
    for (const number of listOf(before)) if (!kept.delete(number)) this.#remove(number, minion);
    for (const number of kept) this.#add(number, minion);
    const [only] = numbers;
    if (numbers.length > 1) this.#textsOf[minion] = numbers;
    else this.#textsOf[minion] = only;
    this.#edition += 1;
  }

  /** Minions with exactly this text. Callers must not change the result. */
  exactly(text: string): Bitmap {
    const number = this.#table.find(text);
    const posting = number === undefined ? undefined : this.#postings[number];
    if (posting instanceof Bitmap) return posting;
    const minions = new Bitmap();
    for (const minion of listOf(posting)) minions.add(minion);
    return minions;
  }

  /** Minions with a text that passes the test, which `name` identifies. Callers must not change the result. */
  *passing(name: string, test: (text: string) => boolean): Generator<void, Bitmap> {
    const passed = yield* this.#table.passing(name, test);
    const known = this.#gathered.get(name);
    if (known?.edition === this.#edition) return known.minions;
    const edition = this.#edition;
    const minions = new Bitmap();
    let untilPause = gatheredPerStep;
    for (const number of membersOf(passed)) {
      this.#gather(number, minions);
      untilPause -= 1;
      if (untilPause > 0) continue;
      untilPause = gatheredPerStep;
      yield;
    }
    this.#keep(name, { minions, edition });
    return minions;
  }

  #gather(number: number, into: Bitmap): void {
    const posting = this.#postings[number];
    if (typeof posting === "number") into.add(posting);
    else if (posting instanceof Bitmap) into.addAll(posting);
    else if (posting !== undefined) for (const minion of posting) into.add(minion);
  }

  #keep(name: string, gathered: Gathered): void {
    this.#gathered.delete(name);
    this.#gathered.set(name, gathered);
    if (this.#gathered.size <= gatheredVerdictsMax) return;
    const [oldest = ""] = this.#gathered.keys();
    this.#gathered.delete(oldest);
  }

  #add(number: number, minion: number): void {
    const posting = this.#postings[number];
    this.#entries += 1;
    if (posting instanceof Bitmap) {
      this.#bitmapBytes -= posting.byteLength;
      posting.add(minion);
      this.#bitmapBytes += posting.byteLength;
    } else if (posting === undefined) {
      this.#postings[number] = minion;
    } else if (typeof posting === "number") {
      this.#postings[number] = [posting, minion];
    } else if (posting.length < listedMax) {
      posting.push(minion);
    } else {
      const minions = new Bitmap();
      for (const listed of posting) minions.add(listed);
      minions.add(minion);
      this.#postings[number] = minions;
      this.#bitmapBytes += minions.byteLength;
    }
  }

  #remove(number: number, minion: number): void {
    const posting = this.#postings[number];
    this.#entries -= 1;
    if (posting instanceof Bitmap) {
      posting.delete(minion);
      if (!posting.isEmpty) return;
      this.#bitmapBytes -= posting.byteLength;
    } else if (Array.isArray(posting)) {
      const last = posting.pop();
      if (last !== minion && last !== undefined) posting[posting.indexOf(minion)] = last;
      if (posting.length > 0) return;
    }
    this.#postings[number] = undefined;
    this.#table.release(number);
  }
}

function listOf(item: Posting | undefined): readonly number[] {
  if (item === undefined || item instanceof Bitmap) return [];
  return typeof item === "number" ? [item] : item;
}

function isSame(table: TextTable, before: number | number[] | undefined, texts: readonly string[]): boolean {
  const numbers = listOf(before);
  if (numbers.length !== texts.length) return false;
  return texts.every((text, index) => table.find(text) === numbers[index]);
}

/** A copy of the members, which may change while a caller steps through them. */
function membersOf(bitmap: Bitmap): number[] {
  const members: number[] = [];
  bitmap.forEach((member) => {
    members.push(member);
  });
  return members;
}
