/**
 * Finds jobs in one file of the LMDB job cache by its index, newest first. Sources of candidates are the list of all jobs, and each filter with at
 * most `mergedTermsMax` terms. The search reads the sources in turn and checks each candidate against all filters, until one source has filled the
 * page or is at its end. So the cost is a small multiple of the cheapest source's.
 */
import { isJid } from "../../../wire/jid.ts";
import {
  exactly,
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

/** Bound of the terms of a filter that is a source: opening each costs some 6 µs. A filter with more terms only checks candidates. */
const mergedTermsMax = 1_000;
/** Candidates per turn of a source. The source that is furthest back in time, the leader, takes more, because it will probably end first. */
const turnCount = 32;
const leaderTurnCount = 256;

export type SearchedFile = {
  readonly index: JobIndex;
  readonly texts: TermTexts;
  /** A job's load, which is read for jobs with unindexed texts. */
  readonly requestOf: (jid: string) => Uint8Array | undefined;
};

/** A filter: a job must have one of the terms `ids`. A job with the term `unlistedId` may match, too; then its load is read. */
type TermSet = { readonly ids: ReadonlySet<number>; readonly unlistedId: number | undefined };
/** Keys from `low` (included) to `high` (excluded). */
type KeyRange = { readonly low: Buffer; readonly high: Buffer };
/** `jobKey`: a job's key as a latin-1 text, which compares like its bytes. `ids`: the numbers of the job's terms, if the source has them. */
type Candidate = { readonly jobKey: string; readonly ids: Buffer | undefined };

/** Finds ids of jobs, newest first. Reads one snapshot, which the caller has just renewed. */
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

/** Makes the check whether a candidate matches the query. */
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

/** Reads the sources in turn. Each yields all matching jobs, among others, in the same order, so the first one to end has the answer. */
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

/** `reached`: the key of the last candidate. */
type Followed = { readonly source: Iterator<Candidate>; readonly found: string[]; reached: string };

/** Takes `count` candidates. @returns whether the source is at its end or has found `limit` jobs */
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

/** A source with the jobs of a filter's terms, newest first. No source if the filter has over `mergedTermsMax` terms. */
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

/** Makes a binary max-heap by `jobKey`: the head at index i is not earlier than those at 2i + 1 and 2i + 2. */
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
