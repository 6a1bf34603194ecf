/**
 * Reads one page of a job's returns, merged by minion id from the files of the LMDB job cache and the writers' logs. Holds the page and one
 * further return per file in memory.
 */
import { openValue } from "../../disk/checked-value.ts";
import { FilledPage } from "../../jobs/filled-page.ts";
import { compareIds, type ReturnPage, type ReturnsFound } from "../../jobs/job-cache.ts";
import { bodyIn, type LoggedEntry } from "../../return-log/frames.ts";
import { isReturnOf, minionIdIn, type ReadShard, returnKey, returnRange } from "./records.ts";

export type PageSource = {
  readonly shards: readonly ReadShard[];
  readonly shardOf: (minionId: string) => ReadShard;
  /** The returns in the logs of the job whose keys begin with `start`. */
  readonly loggedOf: (start: Buffer) => readonly LoggedEntry[];
  /** Gets each minion whose return is damaged and not in a log. */
  readonly onDamaged: (minionId: string) => void;
};

/** `body`: undefined if the return is damaged. */
type Found = { readonly minionId: string; readonly body: Uint8Array | undefined };
type Head = { readonly rest: Iterator<Found, undefined>; found: Found };

/** Reads a page within one turn of the event loop, so that all files are read at one moment. */
export function readReturnsPage(source: PageSource, jid: string, page: ReturnPage): ReturnsFound {
  // Logs are read before the store: a return that leaves its log meanwhile is then found in the store. Of a return in
  // both, the store's is the same or the earlier.
  const logged = loggedReturns(source, jid, page);
  for (const { returns } of source.shards) returns.resetReadTxn();
  const stored =
    page.of === undefined
      ? source.shards.map((shard) => inRange(shard, jid, page))
      : [named(source, jid, page.of, page)];
  const heads = [...stored, logged].flatMap(headOf);
  try {
    return mergePage(heads, page, source.onDamaged);
  } finally {
    for (const { rest } of heads) rest.return?.();
  }
}

function headOf(rest: Iterator<Found, undefined>): Head[] {
  const { value, done } = rest.next();
  return done === true ? [] : [{ rest, found: value }];
}

function mergePage(heads: Head[], page: ReturnPage, onDamaged: PageSource["onDamaged"]): ReturnsFound {
  const filled = new FilledPage(page);
  while (heads.length > 0 && !filled.isFull) {
    const minionId = heads.map(({ found }) => found.minionId).reduce((a, b) => (compareIds(b, a) < 0 ? b : a));
    const same = heads.filter(({ found }) => found.minionId === minionId);
    const body = same.find(({ found }) => found.body !== undefined)?.found.body;
    if (body === undefined) onDamaged(minionId);
    else filled.add({ minionId, body });
    for (const head of same) advance(heads, head);
  }
  return { returns: filled.returns, hasMore: heads.length > 0 };
}

function advance(heads: Head[], head: Head): void {
  const { value, done } = head.rest.next();
  if (done === true) heads.splice(heads.indexOf(head), 1);
  else head.found = value;
}

function* inRange({ returns }: ReadShard, jid: string, { after }: ReturnPage): Generator<Found, undefined> {
  const { start, end } = returnRange(jid);
  const from = after === undefined ? { start } : { start: returnKey(jid, after), exclusiveStart: true };
  for (const { key, value } of returns.getRange({ ...from, end })) {
    if (isReturnOf(key, start)) yield { minionId: minionIdIn(key), body: openValue(key, value) };
  }
  return undefined;
}

/** The stored returns of the named minions. */
function* named(
  { shardOf }: PageSource,
  jid: string,
  minionIds: readonly string[],
  { after }: ReturnPage,
): Generator<Found, undefined> {
  for (const minionId of [...new Set(minionIds)].sort(compareIds)) {
    if (after !== undefined && compareIds(minionId, after) <= 0) continue;
    const key = returnKey(jid, minionId);
    const value = shardOf(minionId).returns.getBinary(key);
    if (value !== undefined) yield { minionId, body: openValue(key, value) };
  }
  return undefined;
}

function loggedReturns({ loggedOf }: PageSource, jid: string, { after, of }: ReturnPage): Iterator<Found, undefined> {
  const found = new Map<string, Found>();
  const wanted = of === undefined ? undefined : new Set(of);
  for (const entry of loggedOf(returnRange(jid).start)) {
    const minionId = minionIdIn(entry.key);
    const isOnPage = (after === undefined || compareIds(minionId, after) > 0) && (wanted?.has(minionId) ?? true);
    if (isOnPage && !found.has(minionId)) found.set(minionId, { minionId, body: bodyIn(entry) });
  }
  return [...found.values()].sort((a, b) => compareIds(a.minionId, b.minionId)).values();
}
