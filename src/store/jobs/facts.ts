/**
 * What a job can be found by: functions, target text, user and metadata of its load, and questions about them.
 * One reading for the index of the LMDB cache, for drivers that look through their jobs, and for what runners show.
 */
import { createHash } from "node:crypto";
import { isJid } from "../../wire/jid.ts";
import { pickEntries } from "../../wire/pick.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** `exact`: the only text that matches, if there is one. */
export type TextPattern = { readonly exact: string | undefined; readonly matches: (text: string) => boolean };

/** All that is given must hold; of several patterns or pairs one suffices. */
export type JobFilter = {
  readonly functions?: readonly TextPattern[] | undefined;
  /** Against the target as it was written, or each name of a list. */
  readonly targets?: readonly TextPattern[] | undefined;
  readonly users?: readonly TextPattern[] | undefined;
  readonly metadata?: ValueMap | undefined;
  readonly exceptFunction?: string | undefined;
  /** 20 digits: only jobs whose id is a time from this one on. */
  readonly from?: string | undefined;
  /** 20 digits: only jobs whose id is a time up to this one, included. */
  readonly until?: string | undefined;
};

/** Jobs come newest first, and jobs whose ids are not times after all others. `before`: only jobs that come after this one. */
export type JobQuery = JobFilter & { readonly limit: number; readonly before?: string | undefined };

export type JobFacts = {
  readonly functions: readonly string[];
  readonly targets: readonly string[];
  readonly user: string;
  readonly metadata: ValueMap | undefined;
};

const wanted: ReadonlySet<Value> = new Set(["fun", "tgt", "user", "metadata", "kwargs", "arg"]);
/** The user of a job whose load does not name one, as Salt shows it. */
export const defaultUser = "root";

/** @throws SaltworksError for what no decoder takes */
export function readJobFacts(load: Uint8Array): JobFacts {
  const fields = pickEntries(load, wanted);
  return {
    functions: textsOf(fields.get("fun")),
    targets: textsOf(fields.get("tgt")),
    user: String(fields.get("user") ?? defaultUser),
    metadata: mapOf(jobMetadata(fields)),
  };
}

/** As Salt looks for it: in the load, in its kwargs, or among keyword arguments. */
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

/** Whether the job is one that is asked for, times aside. */
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

/** Texts longer than this stand in an index as their hash. */
const pairLengthMax = 300;

/** Key and value as one text, equal for what Python calls equal. */
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

/** Whether a job of this id lies within the times and before the page's end that a query names. */
export function isInRange(jid: string, { from, until, before }: JobQuery): boolean {
  const isTime = isJid(jid);
  if (from !== undefined && (!isTime || jid < from)) return false;
  if (until !== undefined && (!isTime || jid >= justAfter(until))) return false;
  return before === undefined || comesAfter(jid, before);
}

/** Ids that begin with these digits and go on with an underscore are of the same moment. */
export function justAfter(digits: string): string {
  return `${digits}\``;
}

function comesAfter(jid: string, before: string): boolean {
  const isTime = isJid(jid);
  return isTime === isJid(before) ? jid < before : !isTime;
}

/** Newest first, ids that are not times last. */
export function compareNewestFirst(a: string, b: string): number {
  const rank = (jid: string) => (isJid(jid) ? 0 : 1);
  return rank(a) - rank(b) || (a < b ? 1 : a > b ? -1 : 0);
}

/** For caches without an index: looks at one job after the other. `jids` newest first; `requestOf` gives a job's load. */
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
