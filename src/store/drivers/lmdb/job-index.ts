/**
 * The index of the LMDB job cache: finds jobs by function, target text, user and metadata pair. It is in the same file as the jobs' loads and
 * changes in their transactions. A term (kind and text) has a number; a posting is a term's number and a job's key.
 */
import { SaltworksError } from "../../../errors.ts";
import { indexedTextsMax } from "../../../limits.ts";
import { pairText, readJobFacts } from "../../jobs/facts.ts";
import { type BinaryDatabase, type BinaryEnvironment, transact } from "../../lmdb/env.ts";

/** First byte of a term. Terms of the kind `flag` have one of two fixed texts. */
export const termKinds = { function: "f", target: "t", user: "u", metadata: "m", flag: "x" } as const;
export type TermKind = (typeof termKinds)[keyof typeof termKinds];

/** Flag of a job with functions or targets that are too long or too many for the index. A search reads the job's load. */
export const unlistedFlag = "unlisted";
/** Flag of a job whose returns are not stored. */
export const noCacheFlag = "nocache";

export type JobIndex = {
  /** Maps kind and text of a term to its number. The key `\0` holds the last number given. */
  readonly termIds: BinaryDatabase;
  /** Maps kind and number of a term to its text. */
  readonly termTexts: BinaryDatabase;
  /** Keys of a term's number and a job's key, with empty values. */
  readonly postings: BinaryDatabase;
  /** Maps a job's key to the numbers of its terms. */
  readonly jobTerms: BinaryDatabase;
};
export type IndexedLoads = {
  readonly environment: BinaryEnvironment;
  readonly loads: BinaryDatabase;
  readonly index: JobIndex;
};

/** The parts of a load's record that the index is made of. `request`: the publish load. */
export type IndexedLoad = { readonly request: Uint8Array; readonly isNoCache: boolean };

export const termIdBytes = 4;
const lastTermKey = Buffer.from("\0");
const nothing = Buffer.alloc(0);
/** In UTF-16 units. LMDB's keys hold 1,978 bytes, enough for any text of this length. */
const termTextLengthMax = 600;
/** Usual number of records that a job adds to the index: a term and a posting each, mostly on pages that other jobs change, too. */
const indexRecordsPerJob = 8;
/** Loads per transaction while an index is built. */
const buildStep = 500;

export function termKey(kind: TermKind, text: string): Buffer {
  return Buffer.from(kind + text, "utf8");
}

function termTextKey(kind: TermKind, id: number): Buffer {
  const key = Buffer.alloc(1 + termIdBytes);
  key.write(kind, 0, "latin1");
  key.writeUInt32BE(id, 1);
  return key;
}

export function postingKey(id: number, jobKey: Buffer): Buffer {
  const key = Buffer.allocUnsafe(termIdBytes + jobKey.length);
  key.writeUInt32BE(id, 0);
  jobKey.copy(key, termIdBytes);
  return key;
}

/** Kind and text in a record of `termTexts`, as a latin-1 text of the key's bytes in `termIds`. */
export function termTextIn(key: Buffer, value: Buffer): string {
  return key.toString("latin1", 0, 1) + value.toString("latin1");
}

/** The terms of a load. A load that cannot be decoded has only flags. */
export function termsOf(load: Uint8Array, isNoCache: boolean): [TermKind, string][] {
  const terms: [TermKind, string][] = isNoCache ? [[termKinds.flag, noCacheFlag]] : [];
  let isUnlisted = false;
  const add = (kind: TermKind, texts: readonly string[]) => {
    const kept = texts.slice(0, indexedTextsMax).filter((text) => text.length <= termTextLengthMax);
    isUnlisted ||= kept.length < texts.length;
    for (const text of new Set(kept)) terms.push([kind, text]);
  };
  try {
    const { functions, targets, user, metadata } = readJobFacts(load);
    add(termKinds.function, functions);
    add(termKinds.target, targets);
    add(termKinds.user, [user.slice(0, termTextLengthMax)]);
    add(termKinds.metadata, metadata === undefined ? [] : [...metadata].map(pairText));
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
  }
  if (isUnlisted) terms.push([termKinds.flag, unlistedFlag]);
  return terms;
}

/** Adds a job to the index, or replaces its entries. The caller opens the transaction. */
export function indexJob(index: JobIndex, jobKey: Buffer, load: Uint8Array, isNoCache: boolean): void {
  const terms = termsOf(load, isNoCache);
  const ids = Buffer.alloc(terms.length * termIdBytes);
  for (const [at, [kind, text]] of terms.entries()) ids.writeUInt32BE(termId(index, kind, text), at * termIdBytes);
  const present = index.jobTerms.getBinary(jobKey);
  if (present?.equals(ids) === true) return;
  if (present !== undefined) unindexJob(index, jobKey);
  index.jobTerms.putSync(jobKey, ids);
  for (const id of idsIn(ids)) index.postings.putSync(postingKey(id, jobKey), nothing);
}

export function* idsIn(ids: Buffer): Generator<number> {
  for (let at = 0; at < ids.length; at += termIdBytes) yield ids.readUInt32BE(at);
}

function termId(index: JobIndex, kind: TermKind, text: string): number {
  const key = termKey(kind, text);
  const present = index.termIds.getBinary(key);
  if (present !== undefined) return present.readUInt32BE(0);
  const id = (index.termIds.getBinary(lastTermKey)?.readUInt32BE(0) ?? 0) + 1;
  const idBytes = Buffer.alloc(termIdBytes);
  idBytes.writeUInt32BE(id, 0);
  index.termIds.putSync(lastTermKey, idBytes);
  index.termIds.putSync(key, idBytes);
  index.termTexts.putSync(termTextKey(kind, id), Buffer.from(text, "utf8"));
  return id;
}

/** Removes a job from the index, with the terms that no other job has. The caller opens the transaction. */
export function unindexJob(index: JobIndex, jobKey: Buffer): void {
  const ids = index.jobTerms.getBinary(jobKey);
  if (ids === undefined) return;
  index.jobTerms.removeSync(jobKey);
  for (const id of idsIn(ids)) {
    index.postings.removeSync(postingKey(id, jobKey));
    if (!hasPostings(index, id)) removeTerm(index, id);
  }
}

function hasPostings({ postings }: JobIndex, id: number): boolean {
  const [first] = postings.getKeys({ start: postingKey(id, nothing), end: postingKey(id + 1, nothing), limit: 1 });
  return first !== undefined;
}

function removeTerm({ termIds, termTexts }: JobIndex, id: number): void {
  for (const kind of Object.values(termKinds)) {
    const key = termTextKey(kind, id);
    const text = termTexts.getBinary(key);
    if (text === undefined) continue;
    termTexts.removeSync(key);
    termIds.removeSync(Buffer.concat([Buffer.from(kind, "latin1"), text]));
  }
}

/** Ids of the jobs that have a term, in the order of their keys. */
export function postingJids({ termIds, postings }: JobIndex, kind: TermKind, text: string): string[] {
  termIds.resetReadTxn();
  const id = termIds.getBinary(termKey(kind, text))?.readUInt32BE(0);
  if (id === undefined) return [];
  const range = { start: postingKey(id, nothing), end: postingKey(id + 1, nothing) };
  return Array.from(postings.getKeys(range), (key) => key.toString("utf8", termIdBytes + 1));
}

/**
 * Indexes all loads of a file that was written without an index, in bounded transactions, with a turn of the event loop after each.
 * It is idempotent, and several threads may do it at once.
 *
 * @param indexedOf reads the indexed parts from a load's record
 */
export async function buildIndex(
  { environment, loads, index }: IndexedLoads,
  indexedOf: (key: Buffer, record: Buffer) => IndexedLoad,
): Promise<number> {
  let count = 0;
  for (let after: Buffer | undefined; ; ) {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    const keys = Array.from(loads.getKeys({ ...start, limit: buildStep }), (key) => Buffer.from(key));
    if (keys.length === 0) return count;
    transact(environment, { records: keys.length * indexRecordsPerJob, bytes: 0 }, () => {
      for (const key of keys) {
        const record = loads.getBinary(key);
        if (record === undefined) continue;
        const { request, isNoCache } = indexedOf(key, record);
        indexJob(index, key, request, isNoCache);
      }
    });
    count += keys.length;
    after = keys.at(-1);
    loads.resetReadTxn();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Caches the texts of terms between searches, because a glob is tried on every text. A removed term costs a look-up and finds nothing. */
export class TermTexts {
  readonly #kept = new Map<TermKind, { readonly ids: number[]; readonly texts: string[]; wholeCount: number }>();

  /** Numbers of terms whose text matches. */
  matching(index: JobIndex, kind: TermKind, matches: (text: string) => boolean): number[] {
    const { ids, texts } = this.#current(index, kind);
    const found: number[] = [];
    for (const [at, text] of texts.entries()) if (matches(text)) found.push(ids[at] ?? 0);
    return found;
  }

  #current(index: JobIndex, kind: TermKind) {
    let kept = this.#kept.get(kind);
    const isStale = kept !== undefined && kept.ids.length > 2 * kept.wholeCount + keptSlack;
    if (kept === undefined || isStale) {
      kept = { ids: [], texts: [], wholeCount: 0 };
      this.#kept.set(kind, kept);
    }
    const isWhole = kept.ids.length === 0;
    const start = termTextKey(kind, (kept.ids.at(-1) ?? 0) + 1);
    for (const { key, value } of index.termTexts.getRange({ start, end: Buffer.from(nextKind(kind), "latin1") })) {
      kept.ids.push(key.readUInt32BE(1));
      kept.texts.push(value.toString("utf8"));
    }
    if (isWhole) kept.wholeCount = kept.ids.length;
    return kept;
  }
}

/** A kind's texts are read anew once they exceed twice the first reading by this number. That drops removed terms. */
const keptSlack = 10_000;

function nextKind(kind: TermKind): string {
  return String.fromCharCode(kind.charCodeAt(0) + 1);
}
