/**
 * Facts by which a job can be found: functions, target text, user and metadata of its load; and filters over them.
 * Used by the index of the LMDB job cache, by drivers without an index, and by runners that show jobs.
 */
import { createHash } from "node:crypto";
import { hasCode } from "../../errors.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { isJid } from "../../wire/jid.ts";
import { pickEntries } from "../../wire/pick.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** `exact`: set if exactly one text matches: that text. */
export type TextPattern = { readonly exact: string | undefined; readonly matches: (text: string) => boolean };

export const exactly = (text: string): TextPattern => ({ exact: text, matches: (other) => other === text });

/** Every given field must match. Of several patterns or pairs in a field, one suffices. */
export type JobFilter = {
  readonly functions?: readonly TextPattern[] | undefined;
  /** Compared with the target as it was written, or with each name of a list. */
  readonly targets?: readonly TextPattern[] | undefined;
  readonly users?: readonly TextPattern[] | undefined;
  readonly metadata?: ValueMap | undefined;
  readonly exceptFunction?: string | undefined;
  /** 20 digits: only jobs whose id is this time or a later one. */
  readonly from?: string | undefined;
  /** 20 digits: only jobs whose id is this time or an earlier one. */
  readonly until?: string | undefined;
};

/** A query for the newest `limit` jobs. Jobs whose ids are not times come last. `before`: only jobs that come after this id in this order. */
export type JobQuery = JobFilter & { readonly limit: number; readonly before?: string | undefined };

export type JobFacts = {
  readonly functions: readonly string[];
  readonly targets: readonly string[];
  readonly user: string;
  readonly metadata: ValueMap | undefined;
};

const wanted: ReadonlySet<Value> = new Set(["fun", "tgt", "user"]);
const metadataHolders: ReadonlySet<Value> = new Set(["metadata", "kwargs", "arg"]);
/** The user of a job whose load does not name one, as in Salt. */
export const defaultUser = "root";

/** Bounded, because minions send the loads of their own jobs. @throws SaltworksError if the load cannot be decoded */
export function readJobFacts(load: Uint8Array): JobFacts {
  const fields = pickEntries(load, wanted, DecodeBudget.ofRequest());
  return {
    functions: textsOf(fields.get("fun")),
    targets: textsOf(fields.get("tgt")),
    user: String(fields.get("user") ?? defaultUser),
    metadata: metadataIn(load),
  };
}

/** The load's metadata; undefined also if the arguments that may hold it are too large to be looked through. */
function metadataIn(load: Uint8Array): ValueMap | undefined {
  try {
    return mapOf(jobMetadata(pickEntries(load, metadataHolders, DecodeBudget.ofRequest())));
  } catch (error) {
    if (!hasCode(error, "WIRE_TOO_LARGE")) throw error;
    return undefined;
  }
}

/** The job's metadata. Looks as Salt does: in the load, then in its `kwargs`, then in the first keyword arguments that have it. */
export function jobMetadata(fields: ValueMap): Value | undefined {
  if (fields.has("metadata")) return fields.get("metadata");
  const kwargs = mapOf(fields.get("kwargs"));
  if (kwargs?.has("metadata")) return kwargs.get("metadata");
  const args = fields.get("arg");
  if (!Array.isArray(args)) return undefined;
  const marked = args.find((arg) => arg instanceof Map && arg.get("__kwarg__") === true && arg.has("metadata"));
  return mapOf(marked)?.get("metadata");
}

function mapOf(value: Value | undefined): ValueMap | undefined {
  return value instanceof Map ? value : undefined;
}

function textsOf(value: Value | undefined): string[] {
  if (Array.isArray(value)) return value.filter((text) => typeof text === "string");
  return typeof value === "string" ? [value] : [];
}

/** Whether the job matches the filter, apart from `from` and `until`. */
export function hasFacts(facts: JobFacts, filter: JobFilter): boolean {
  const any = (texts: readonly string[], patterns: readonly TextPattern[] | undefined) =>
    patterns === undefined || texts.some((text) => patterns.some((pattern) => pattern.matches(text)));
  return (
    any(facts.functions, filter.functions) &&
    any(facts.targets, filter.targets) &&
    any([facts.user], filter.users) &&
    (filter.metadata === undefined || sharesPair(facts.metadata, filter.metadata)) &&
    (filter.exceptFunction === undefined || !facts.functions.includes(filter.exceptFunction))
  );
}

function sharesPair(metadata: ValueMap | undefined, asked: ValueMap): boolean {
  if (metadata === undefined) return false;
  const present = new Set([...metadata].map(pairText));
  return [...asked].some((pair) => present.has(pairText(pair)));
}

/** Longer texts are replaced by their hash. */
const pairLengthMax = 300;

/** A metadata pair as one text. Pairs that are equal in Python have equal texts. */
export function pairText([key, value]: readonly [Value, Value]): string {
  const text = `${valueText(key)}=${valueText(value)}`;
  return text.length <= pairLengthMax ? text : `#${createHash("sha256").update(text, "utf8").digest("base64")}`;
}

function valueText(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "boolean") return value ? "1" : "0";
  if (value instanceof Float) return String(value.value);
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("base64")}`;
  if (Array.isArray(value)) return `[${value.map(valueText).join()}]`;
  if (value instanceof Map)
    return `{${[...value]
      .map(([key, member]) => `${valueText(key)}:${valueText(member)}`)
      .sort()
      .join()}}`;
  if (value === null || typeof value !== "object") return String(value);
  return `x${value.type}:${Buffer.from(value.data).toString("base64")}`;
}

/** Whether the job id is within the query's `from` and `until`, and comes after `before`. */
export function isInRange(jid: string, { from, until, before }: JobQuery): boolean {
  const isTime = isJid(jid);
  if (from !== undefined && (!isTime || jid < from)) return false;
  if (until !== undefined && (!isTime || jid >= justAfter(until))) return false;
  return before === undefined || comesAfter(jid, before);
}

/** An upper bound (excluded) of ids of this time. Ids with these digits, an underscore and a process id are of the same time. */
export function justAfter(digits: string): string {
  return `${digits}\``;
}

function comesAfter(jid: string, before: string): boolean {
  const isTime = isJid(jid);
  return isTime === isJid(before) ? jid < before : !isTime;
}

/** Orders job ids newest first; ids that are not times come last. */
export function compareNewestFirst(a: string, b: string): number {
  const rank = (jid: string) => (isJid(jid) ? 0 : 1);
  return rank(a) - rank(b) || (a < b ? 1 : a > b ? -1 : 0);
}

/** Searches a cache without an index by reading each job's load. `jids`: newest first. `requestOf` returns a job's load. */
export function searchOneByOne(
  jids: Iterable<string>,
  requestOf: (jid: string) => Uint8Array | undefined,
  query: JobQuery,
): string[] {
  const found: string[] = [];
  for (const jid of jids) {
    if (found.length >= query.limit) break;
    if (!isInRange(jid, query)) continue;
    const load = requestOf(jid);
    if (load !== undefined && hasFacts(readJobFacts(load), query)) found.push(jid);
  }
  return found;
}
