/**
 * Checks that the index of jobs has exactly the terms of the loads in the same file. Records of the index have no hash of their own. Of each term's
 * jobs the check keeps a count and the sum of their keys' hashes, so its memory grows with the number of terms, not of jobs.
 */
import { checkOf, openValue } from "../../disk/checked-value.ts";
import { idsIn, noCacheFlag, termIdBytes, termKey, termKinds, termsOf, termTextIn } from "./job-index.ts";
import { requestIn } from "./records.ts";

/** A set of jobs, as a count and a sum of hashes. */
class Jobs {
  count = 0;
  #sum = 0;

  add(key: Uint8Array): void {
    this.count += 1;
    this.#sum = (this.#sum + checkOf(key)) >>> 0;
  }

  equals(other: Jobs | undefined): boolean {
    return this.count === (other?.count ?? 0) && this.#sum === (other === undefined ? 0 : other.#sum);
  }
}

function jobsOf<Key>(sets: Map<Key, Jobs>, key: Key): Jobs {
  let jobs = sets.get(key);
  if (jobs === undefined) {
    jobs = new Jobs();
    sets.set(key, jobs);
  }
  return jobs;
}

const kindNames: ReadonlyMap<string, string> = new Map(
  Object.entries(termKinds).map(([name, letter]): [string, string] => [letter, name]),
);
/** The number of a value that is too short to hold one. */
const noId = -1;
/** This term is not compared with the loads, because an index that an earlier release rebuilt lacks it. */
const noCacheTerm = termKinds.flag + noCacheFlag;
const empty = new Jobs();

export class IndexCheck {
  readonly #loads = new Jobs();
  readonly #indexed = new Jobs();
  readonly #ofLoads = new Map<string, Jobs>();
  readonly #ofJobs = new Map<number, Jobs>();
  readonly #ofPostings = new Map<number, Jobs>();
  readonly #ids = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #lastId = 0;
  #hasDamage = false;

  /** Takes each record of the file, in any order. `key` and `value` may be views. */
  take(table: string, key: Buffer, value: Buffer): void {
    if (table === "loads") this.#takeLoad(key, value);
    else if (table === "jobTerms") {
      this.#indexed.add(key);
      const isWhole = value.byteLength % termIdBytes === 0;
      for (const id of new Set(isWhole ? idsIn(value) : [noId])) jobsOf(this.#ofJobs, id).add(key);
    } else if (table === "postings") jobsOf(this.#ofPostings, idIn(key)).add(key.subarray(termIdBytes));
    else if (table === "termIds") this.#takeId(key.toString("latin1"), idIn(value));
    else if (table === "termTexts") this.#texts.set(idIn(key.subarray(1)), termTextIn(key, value));
  }

  /** A sentence per fault. Empty if a load is damaged, because then the index's right contents are unknown. */
  faults(): string[] {
    if (this.#hasDamage) return [];
    const faults: string[] = [];
    if (!this.#loads.equals(this.#indexed))
      faults.push(`the index and the store have different jobs: ${this.#indexed.count} and ${this.#loads.count}`);
    for (const [term, jobs] of this.#ofLoads) {
      const id = this.#ids.get(term);
      if (id === undefined) faults.push(`${nameOf(term)} is not in the index: ${jobs.count} jobs are not found by it`);
    }
    for (const [term, id] of this.#ids) {
      const jobs = this.#ofJobs.get(id) ?? empty;
      const isOfLoads = term === noCacheTerm || jobs.equals(this.#ofLoads.get(term));
      if (!isOfLoads || !jobs.equals(this.#ofPostings.get(id)))
        faults.push(`${nameOf(term)} has different jobs in the index and in the store`);
      if (this.#texts.get(id) !== term) faults.push(`${nameOf(term)} has different numbers in the index`);
    }
    const known = new Set(this.#ids.values());
    for (const id of new Set([...this.#ofJobs.keys(), ...this.#ofPostings.keys(), ...this.#texts.keys()]))
      if (!known.has(id) || id > this.#lastId) faults.push(`number ${id} in the index has no term`);
    return faults;
  }

  #takeLoad(key: Buffer, value: Buffer): void {
    if (openValue(key, value) === undefined) {
      this.#hasDamage = true;
      return;
    }
    this.#loads.add(key);
    // Terms are compared as bytes, because texts that differ only in lone surrogates are one term.
    const terms = termsOf(requestIn(key, value), false).map(([kind, text]) => termKey(kind, text).toString("latin1"));
    for (const term of new Set(terms)) jobsOf(this.#ofLoads, term).add(key);
  }

  #takeId(term: string, id: number): void {
    // The key `\0` holds the last number given.
    if (term.startsWith("\0")) this.#lastId = id;
    else this.#ids.set(term, id);
  }
}

function idIn(bytes: Buffer): number {
  return bytes.byteLength < termIdBytes ? noId : bytes.readUInt32BE(0);
}

function nameOf(term: string): string {
  return `${kindNames.get(term.slice(0, 1)) ?? "term"} ${JSON.stringify(Buffer.from(term.slice(1), "latin1").toString("utf8"))}`;
}
