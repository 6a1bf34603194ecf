/** The rows of jobs and returns in Salt's tables, with the JSON that Salt's returners write. Source: docs/databases.md. */
import { SaltworksError } from "../../errors.ts";
import { dumpJson, loadJson } from "../../python/json.ts";
import type { Item } from "../../python/values.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { Ext, Float, type Value, type ValueMap } from "../../wire/values.ts";

/** A row of `jids`. */
export type JobRow = { readonly kind: "job"; readonly jid: string; readonly load: string };
/**
 * A row of `salt_returns`. `value`: the JSON of what the function returned; `whole`: of the whole return, whose members are
 * `fields`. `atMs`: when the return came, for `alter_time`; without it the database's clock counts.
 */
export type ReturnRow = {
  readonly kind: "return";
  readonly fun: string;
  readonly jid: string;
  readonly value: string;
  readonly minionId: string;
  readonly success: string;
  readonly whole: string;
  readonly fields: ValueMap;
  readonly atMs?: number;
};
export type Row = JobRow | ReturnRow;

/** Widths of Salt's columns, characters. */
const funLength = 50;
const successLength = 10;
const json = { sortsKeys: false, isAscii: false, indent: undefined } as const;
/** Shown instead of a row's value that cannot be read. */
const unreadable = "VALUE_UNREADABLE";

/** @throws SaltworksError DATABASE_REFUSED for a load that cannot be decoded */
export function jobRow(jid: string, load: Uint8Array): JobRow {
  return { kind: "job", jid, load: jsonText(fieldsOf(load)) };
}

/** @throws SaltworksError DATABASE_REFUSED for a return that cannot be decoded */
export function returnRow(jid: string, minionId: string, body: Uint8Array): ReturnRow {
  const fields = fieldsOf(body);
  return {
    kind: "return",
    fun: cut(namesIn(fields.get("fun")), funLength),
    jid,
    value: jsonText(fields.get("return") ?? null),
    minionId,
    success: successText(fields.get("success")),
    whole: jsonText(fields),
    fields,
  };
}

/** The return or load in a row's JSON, in the new flavour. */
export function bodyOf(text: string): Uint8Array {
  try {
    const value = loadJson(text);
    if (value instanceof Map) return encode(value as ValueMap, "bin");
  } catch {
    // Another program wrote the row. What it holds is not ours to judge.
  }
  return encode(new Map([["return", unreadable]]), "bin");
}

function fieldsOf(record: Uint8Array): ValueMap {
  let value: Value = null;
  try {
    value = decode(record);
  } catch (error) {
    throw new SaltworksError("DATABASE_REFUSED", "the record cannot be decoded", {}, { cause: error });
  }
  if (value instanceof Map) return value;
  throw new SaltworksError("DATABASE_REFUSED", "the record is not a map");
}

/** The names of a job of several functions are joined. */
function namesIn(fun: Value | undefined): string {
  return Array.isArray(fun) ? fun.map(plainText).join(",") : plainText(fun ?? "");
}

/** As Python's MySQL clients write a boolean. */
function successText(success: Value | undefined): string {
  if (success === undefined || success === null || success === false) return "0";
  return success === true ? "1" : cut(plainText(success), successLength);
}

function plainText(value: Value): string {
  return typeof value === "string" ? value : jsonText(value);
}

/** The JSON that Salt's returners write. */
export function jsonText(value: Value): string {
  return dumpJson(textual(value), json);
}

/** By characters, so that no pair of surrogates is torn. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join("");
}

/** The value with text in place of bytes, which JSON cannot hold. Salt's returners drop such a return. */
function textual(value: Value): Item {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
  if (value instanceof Ext) return Buffer.from(value.data).toString("utf8");
  if (value instanceof Float) return value;
  if (Array.isArray(value)) return value.map(textual);
  if (value instanceof Map)
    return new Map([...value].map(([key, member]): [Item, Item] => [keyOf(key), textual(member)]));
  return value;
}

/** Keys that JSON cannot hold are written as text. */
function keyOf(key: Value): Item {
  const item = textual(key);
  return Array.isArray(item) || item instanceof Map ? dumpJson(item, json) : item;
}

const wide = /[\u{10000}-\u{10ffff}]/gu;

/** The row with escapes for the characters beyond U+FFFF in its JSON; undefined if it has none there. */
export function withoutWideCharacters(row: Row): Row | undefined {
  const narrow: Row =
    row.kind === "job"
      ? { ...row, load: narrowJson(row.load) }
      : { ...row, value: narrowJson(row.value), whole: narrowJson(row.whole) };
  const isSame =
    narrow.kind === "job" ? narrow.load === (row as JobRow).load : narrow.whole === (row as ReturnRow).whole;
  return isSame ? undefined : narrow;
}

/** JSON with escapes for the characters beyond U+FFFF. It means the same. */
export function narrowJson(text: string): string {
  return text.replaceAll(wide, (pair) => `${unitText(pair, 0)}${unitText(pair, 1)}`);
}

function unitText(pair: string, at: number): string {
  return `\\u${pair.charCodeAt(at).toString(16)}`;
}
