/** The rows of jobs and returns in Salt's tables, with the JSON that Salt's returners write. Source: docs/databases.md. */
import { SaltworksError } from "../../errors.ts";
import { loadJson } from "../../python/json.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { jsonText, type MapText, mapText } from "./packed-json.ts";

/** A row of `jids`. */
export type JobRow = { readonly kind: "job"; readonly jid: string; readonly load: string };
/**
 * A row of `salt_returns`. `value`: the JSON of what the function returned; `whole`: of the whole return, whose members are
 * `fields`, decoded when they are first asked for. `atMs`: when the return came, for `alter_time`; without it the database's clock counts.
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
/** Shown instead of a row's value that cannot be read. */
const unreadableBody = Buffer.from(encode(new Map([["return", "VALUE_UNREADABLE"]]), "bin"));

/** @throws SaltworksError DATABASE_REFUSED for a load that cannot be decoded */
export function jobRow(jid: string, load: Uint8Array): JobRow {
  return { kind: "job", jid, load: textsOf(load).whole };
}

/** @throws SaltworksError DATABASE_REFUSED for a return that cannot be decoded */
export function returnRow(jid: string, minionId: string, body: Uint8Array): ReturnRow {
  const { whole, part = "null", get } = textsOf(body);
  let fields: ValueMap | undefined;
  return {
    kind: "return",
    fun: cut(functionNames(get("fun")), funLength),
    jid,
    value: part,
    minionId,
    success: successText(get("success")),
    whole,
    get fields() {
      fields ??= decode(body) as ValueMap;
      return fields;
    },
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
  return unreadableBody;
}

/** Whether `bodyOf` could not read what was stored. */
export function isUnreadable(body: Uint8Array): boolean {
  return unreadableBody.equals(body);
}

function textsOf(record: Uint8Array): MapText {
  try {
    return mapText(record, "return");
  } catch (error) {
    throw new SaltworksError("DATABASE_REFUSED", "the record cannot be read", {}, { cause: error });
  }
}

/** The names of a job of several functions are joined. */
export function functionNames(fun: Value | undefined): string {
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

/** By characters, so that no pair of surrogates is torn. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join("");
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
