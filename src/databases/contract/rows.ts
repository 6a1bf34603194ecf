/** The rows of jobs and returns in Salt's tables, with the JSON that Salt's returners write. Source: docs/databases.md. */
import { SaltworksError } from "../../errors.ts";
import { loadJson } from "../../python/json.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { jsonText, type MapText, mapText } from "./packed-json.ts";

/** A row of `jids`. `body`: the load in msgpack, of which the JSON was made. `expected`: reads the expected minions. */
export type JobRow = {
  readonly kind: "job";
  readonly jid: string;
  readonly load: string;
  readonly body: Uint8Array;
  readonly expected?: (() => readonly string[]) | undefined;
};
/** `value`: the JSON of what the function returned; `whole`: of the whole return. `success`, `fun`: as wide as Salt's columns. */
type ReturnColumns = {
  readonly fun: string;
  readonly jid: string;
  readonly value: string;
  readonly minionId: string;
  readonly success: string;
  readonly whole: string;
  /** When the return came, for `alter_time`; without it the database's clock counts. */
  readonly atMs: number | undefined;
};

/** A row of `salt_returns`. A class, because an object with a getter of its own takes several times as long to make and to read. */
export class ReturnRow implements ReturnColumns {
  readonly kind = "return";
  readonly fun: string;
  readonly jid: string;
  readonly value: string;
  readonly minionId: string;
  readonly success: string;
  readonly whole: string;
  readonly atMs: number | undefined;
  /** The whole return in msgpack. */
  readonly body: Uint8Array;
  #fields: ValueMap | undefined;

  /** @param body the return that the columns were made of, in msgpack */
  constructor(columns: ReturnColumns, body: Uint8Array) {
    this.fun = columns.fun;
    this.jid = columns.jid;
    this.value = columns.value;
    this.minionId = columns.minionId;
    this.success = columns.success;
    this.whole = columns.whole;
    this.atMs = columns.atMs;
    this.body = body;
  }

  /** The members of the whole return, decoded when they are first asked for. */
  get fields(): ValueMap {
    this.#fields ??= decode(this.body) as ValueMap;
    return this.#fields;
  }

  /** The row with other JSON that means the same. */
  withTexts(value: string, whole: string): ReturnRow {
    return new ReturnRow({ ...(this as ReturnColumns), value, whole }, this.body);
  }
}
export type Row = JobRow | ReturnRow;

/** Widths of Salt's columns, characters. */
const funLength = 50;
const successLength = 10;
/** Shown instead of a row's value that cannot be read. */
const unreadableBody = Buffer.from(encode(new Map([["return", "VALUE_UNREADABLE"]]), "bin"));

/** @throws SaltworksError DATABASE_REFUSED for a load that cannot be decoded */
export function jobRow(jid: string, load: Uint8Array, expected?: JobRow["expected"]): JobRow {
  return { kind: "job", jid, load: textsOf(load).whole, body: load, expected };
}

/** @throws SaltworksError DATABASE_REFUSED for a return that cannot be decoded */
export function returnRow(jid: string, minionId: string, body: Uint8Array, atMs?: number): ReturnRow {
  const { whole, part = "null", get } = textsOf(body);
  const fun = cut(functionNames(get("fun")), funLength);
  return new ReturnRow(
    { fun, jid, value: part, minionId, success: successText(successOf(get("success"))), whole, atMs },
    body,
  );
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

/** A job of several functions has succeeded if each has. Salt's tables have one place for it. */
export function successOf(success: Value | undefined): Value | undefined {
  if (success instanceof Map) return [...success.values()].every((each) => each === true);
  return Array.isArray(success) ? success.every((each) => each === true) : success;
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
  if (row.kind === "job") {
    const load = narrowJson(row.load);
    return load === row.load ? undefined : { ...row, load };
  }
  const whole = narrowJson(row.whole);
  return whole === row.whole ? undefined : row.withTexts(narrowJson(row.value), whole);
}

/** JSON with escapes for the characters beyond U+FFFF. It means the same. */
export function narrowJson(text: string): string {
  return text.replaceAll(wide, (pair) => `${unitText(pair, 0)}${unitText(pair, 1)}`);
}

function unitText(pair: string, at: number): string {
  return `\\u${pair.charCodeAt(at).toString(16)}`;
}
