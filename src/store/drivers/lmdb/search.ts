/**
 * Finds jobs in one file of the LMDB job cache by its index, newest first. Every filter that names few enough terms gives its jobs in order;
 * so does the list of all jobs. All of these are followed in turn, each candidate checked against the other filters, until one has the page
 * or is at its end: the cost is that of the best one, whichever that is.
 */
import { isJid } from "../../../wire/jid.ts";
import {
  hasFacts,
  type JobFilter,
  type JobQuery,
  justAfter,
  pairText,
  readJobFacts,
  type TextPattern,
} from "../../jobs/facts.ts";
import {
  type JobIndex,
  postingKey,
  type TermKind,
  type TermTexts,
  termIdBytes,
  termKey,
  termKinds,
  unlistedFlag,
} from "./job-index.ts";
import { otherPrefix, timePrefix } from "./records.ts";

/** Terms whose jobs are merged: opening each costs some 6 µs. A filter of more is only checked, since it lets much through. */
const mergedTermsMax = 1_000;
/** Candidates taken from one source before the next has its turn; the one that is furthest back in time takes more, since it will be done first. */
const turnCount = 32;
const leaderTurnCount = 256;

export type SearchedFile = {
  readonly index: JobIndex;
  readonly texts: TermTexts;
  /** A job's load, for what the index doesn't tell. */
  readonly requestOf: (jid: string) => Uint8Array | undefined;
};

/** Numbers of terms of which a job must have one. `unlistedId`: jobs with this term may match as well, which their load tells. */
type TermSet = { readonly ids: ReadonlySet<number>; readonly unlistedId: number | undefined };
/** Keys from `low` up to, not including, `high`. */
type KeyRange = { readonly low: Buffer; readonly high: Buffer };
/** Keys of jobs as latin1 texts, which compare as their bytes do; `ids` where the source has them at hand. */
type Candidate = { readonly jobKey: string; readonly ids: Buffer | undefined };

/** Ids of jobs, newest first. Reads one snapshot: the caller has just renewed it. */
export function searchIndex(file: SearchedFile, query: JobQuery): string[] {
  const filters = termSetsOf(file, query);
  if (filters.some(({ ids, unlistedId }) => ids.size === 0 && unlistedId === undefined)) return [];
  const check = checkOf(file, query, filters);
  const found: string[] = [];
  for (const range of rangesOf(query)) {
    if (found.length >= query.limit) break;
    const sources = [allJobs(file.index, range), ...filters.flatMap((set) => mergedJobs(file.index, set, range))];
    found.push(...firstToEnd(sources, check, query.limit - found.length).map(jidOf));
  }
  return found;
}

function jidOf(jobKey: string): string {
  return Buffer.from(jobKey, "latin1").toString("utf8", 1);
}

function rangesOf({ from, until, before }: JobQuery): KeyRange[] {
  const isInTimes = before === undefined || isJid(before);
  const ends = [
    before !== undefined && isInTimes ? before : undefined,
    until === undefined ? undefined : justAfter(until),
  ];
  const earliest = ends.filter((end) => end !== undefined).sort()[0];
  const times: KeyRange = {
    low: Buffer.from(timePrefix + (from ?? "")),
    high: Buffer.from(earliest === undefined ? otherPrefix : timePrefix + earliest),
  };
  const others: KeyRange = {
    low: Buffer.from(otherPrefix),
    high: Buffer.from(before === undefined || isInTimes ? nextPrefix : otherPrefix + before),
  };
  const hasOthers = from === undefined && until === undefined;
  return [...(isInTimes ? [times] : []), ...(hasOthers ? [others] : [])];
}

const nextPrefix = String.fromCharCode(otherPrefix.charCodeAt(0) + 1);

function termSetsOf(file: SearchedFile, query: JobFilter): TermSet[] {
  const { functions, targets, users, metadata } = query;
  const byText = (kind: TermKind, patterns: readonly TextPattern[] | undefined, unlistedId?: number): TermSet[] =>
    patterns === undefined ? [] : [{ ids: new Set(patterns.flatMap((one) => idsOf(file, kind, one))), unlistedId }];
  const pairs = metadata === undefined ? undefined : [...metadata].map(pairText);
  const exactly = (text: string): TextPattern => ({ exact: text, matches: (other) => other === text });
  const [unlistedId] = idsOf(file, termKinds.flag, exactly(unlistedFlag));
  return [
    ...byText(termKinds.metadata, pairs?.map(exactly), unlistedId),
    ...byText(termKinds.user, users),
    ...byText(termKinds.target, targets, unlistedId),
    ...byText(termKinds.function, functions, unlistedId),
  ];
}

function idsOf({ index, texts }: SearchedFile, kind: TermKind, pattern: TextPattern): number[] {
  if (pattern.exact === undefined) return texts.matching(index, kind, pattern.matches);
  const id = index.termIds.getBinary(termKey(kind, pattern.exact))?.readUInt32BE(0);
  return id === undefined ? [] : [id];
}

/** Whether a candidate is a job that is asked for. */
function checkOf(file: SearchedFile, query: JobQuery, filters: readonly TermSet[]): (candidate: Candidate) => boolean {
  const exceptIds = new Set(
    query.exceptFunction === undefined
      ? []
      : idsOf(file, termKinds.function, { exact: query.exceptFunction, matches: () => false }),
  );
  return ({ jobKey, ids: given }) => {
    const ids = given ?? file.index.jobTerms.getBinary(Buffer.from(jobKey, "latin1"));
    if (ids === undefined || (exceptIds.size > 0 && hasAny(ids, exceptIds))) return false;
    let isSure = true;
    for (const set of filters) {
      if (hasAny(ids, set.ids)) continue;
      if (set.unlistedId === undefined || !hasAny(ids, new Set([set.unlistedId]))) return false;
      isSure = false;
    }
    if (isSure) return true;
    const load = file.requestOf(jidOf(jobKey));
    return load !== undefined && hasFacts(readJobFacts(load), query);
  };
}

function hasAny(ids: Buffer, wanted: ReadonlySet<number>): boolean {
  for (let at = 0; at < ids.length; at += termIdBytes) if (wanted.has(ids.readUInt32BE(at))) return true;
  return false;
}

/** Follows the sources in turn. Each gives all jobs that match, among others, in the same order: the first that is done has the answer. */
function firstToEnd(
  sources: readonly Iterator<Candidate>[],
  check: (candidate: Candidate) => boolean,
  limit: number,
): string[] {
  const followed = sources.map((source) => ({ source, found: [] as string[], reached: "" }));
  try {
    for (let furthest: string | undefined; ; ) {
      for (const one of followed) {
        const count = one.reached === furthest ? leaderTurnCount : turnCount;
        if (isDone(one, count, check, limit)) return one.found;
      }
      furthest = followed.map(({ reached }) => reached).sort()[0];
    }
  } finally {
    for (const { source } of followed) source.return?.();
  }
}

/** `reached`: the last candidate. */
type Followed = { readonly source: Iterator<Candidate>; readonly found: string[]; reached: string };

/** Takes `count` candidates. @returns whether the source is at its end or has all that is wanted */
function isDone(one: Followed, count: number, check: (candidate: Candidate) => boolean, limit: number): boolean {
  for (let taken = 0; taken < count; taken += 1) {
    const { value, done } = one.source.next();
    if (done === true) return true;
    one.reached = value.jobKey;
    if (check(value) && one.found.push(value.jobKey) >= limit) return true;
  }
  return false;
}

const backwards = { reverse: true, exclusiveStart: true, inclusiveEnd: true } as const;

function* allJobs({ jobTerms }: JobIndex, { low, high }: KeyRange): Generator<Candidate, undefined> {
  for (const { key, value } of jobTerms.getRange({ start: high, end: low, ...backwards }))
    yield { jobKey: key.toString("latin1"), ids: value };
  return undefined;
}

/** The jobs of a filter's terms, newest first; nothing if it names too many terms. */
function mergedJobs(index: JobIndex, { ids, unlistedId }: TermSet, range: KeyRange): Iterator<Candidate>[] {
  if (ids.size > mergedTermsMax) return [];
  return [mergePostings(index, unlistedId === undefined ? ids : new Set([...ids, unlistedId]), range)];
}

type Head = { jobKey: string; readonly rest: Iterator<Buffer> };

function* mergePostings(
  { postings }: JobIndex,
  ids: ReadonlySet<number>,
  { low, high }: KeyRange,
): Generator<Candidate, undefined> {
  const heads: Head[] = [];
  for (const id of ids) {
    const rest = postings
      .getKeys({ start: postingKey(id, high), end: postingKey(id, low), ...backwards })
      [Symbol.iterator]();
    const head = { jobKey: "", rest };
    if (advance(head)) heads.push(head);
  }
  try {
    heapify(heads);
    for (let last: string | undefined; ; ) {
      const top = heads[0];
      if (top === undefined) return undefined;
      if (top.jobKey !== last) yield { jobKey: top.jobKey, ids: undefined };
      last = top.jobKey;
      if (!advance(top)) {
        const moved = heads.pop();
        if (moved !== undefined && moved !== top) heads[0] = moved;
      }
      sink(heads, 0);
    }
  } finally {
    for (const { rest } of heads) rest.return?.();
  }
}

function advance(head: Head): boolean {
  const { value, done } = head.rest.next();
  if (done === true) return false;
  head.jobKey = value.toString("latin1", termIdBytes);
  return true;
}

/** A heap: each head is later than, or the same as, those at twice its place. */
function heapify(heads: Head[]): void {
  for (let at = heads.length >> 1; at >= 0; at -= 1) sink(heads, at);
}

function sink(heads: Head[], from: number): void {
  for (let at = from; ; ) {
    let latest = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if ((heads[child]?.jobKey ?? "") > (heads[latest]?.jobKey ?? "")) latest = child;
    }
    if (latest === at) return;
    const [a, b] = [heads[at], heads[latest]];
    if (a === undefined || b === undefined) return;
    heads[at] = b;
    heads[latest] = a;
    at = latest;
  }
}
