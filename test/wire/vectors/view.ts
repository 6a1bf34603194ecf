/** The JSON views of values in the vector files (test/vectors/README.md), made from this program's values and read into them. */
import { isUtf8 } from "node:buffer";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { type Encodable, Ext, Float, type Value } from "../../../src/wire/values.ts";

export type Json = null | boolean | number | string | Json[] | JsonMap;
export type JsonMap = { [key: string]: Json };

const datetimeType = 78;
const constantType = 79;

/** The view in msgpack.json and crypticle.json of a value that Salt read. `isDefault`: Salt's default reading, which turns bytes in bin into text. */
export function toTypedView(value: Value, isDefault: boolean): Json {
  const inner = (item: Value): Json => toTypedView(item, isDefault);
  if (value instanceof Uint8Array) return bytesView(value, "$bytes_b64", isDefault);
  if (value instanceof Float) return { $float: value.value };
  if (value instanceof Ext) return extView(value, isDefault);
  if (typeof value === "bigint") return { $int: value.toString() };
  if (typeof value === "number") return Number.isInteger(value) ? value : { $float: value };
  if (Array.isArray(value)) return value.map(inner);
  if (value instanceof Map) return { $map: [...value].map(([key, item]) => [inner(key), inner(item)]) };
  return value;
}

/** The view in recordings: maps with text keys as objects, floats as numbers. */
export function toPlainView(value: Value): Json {
  if (value instanceof Uint8Array) return bytesView(value, "$b", true);
  if (value instanceof Float) return value.value;
  if (value instanceof Ext) return { $ext: [value.type, Buffer.from(value.data).toString("base64")] };
  if (typeof value === "bigint") return { $int: value.toString() };
  if (Array.isArray(value)) return value.map(toPlainView);
  if (!(value instanceof Map)) return value;
  const pairs = [...value].map(([key, item]): [Json, Json] => [toPlainView(key), toPlainView(item)]);
  const isObject = pairs.every(([key]) => typeof key === "string");
  return isObject ? Object.fromEntries(pairs as [string, Json][]) : { $map: pairs };
}

function bytesView(bytes: Uint8Array, marker: string, isDefault: boolean): Json {
  const buffer = Buffer.from(bytes);
  return isDefault && isUtf8(buffer) ? buffer.toString("utf8") : { [marker]: buffer.toString("base64") };
}

function extView(ext: Ext, isDefault: boolean): Json {
  if (ext.type === datetimeType) return { $datetime: isoOf(Buffer.from(ext.data).toString("latin1")) };
  if (ext.type === constantType) return { $constant: toTypedView(decode(ext.data), isDefault) };
  // Salt returns the bytes of an unknown extension; this program keeps the type, too.
  return { $bytes_b64: Buffer.from(ext.data).toString("base64") };
}

/** `20260102T03:04:05.678901` in the form of Python's isoformat. */
function isoOf(text: string): string {
  const [, year, month, day, time, micros] = /^(\d{4})(\d\d)(\d\d)(T[\d:]{8})\.(\d{6})$/.exec(text) ?? [];
  return `${year}-${month}-${day}${time}${micros === "000000" ? "" : `.${micros}`}`;
}

/** The value of a view in msgpack.json or crypticle.json, for encoding. */
export function fromTypedView(view: Json): Encodable {
  if (Array.isArray(view)) return view.map(fromTypedView);
  if (typeof view !== "object" || view === null) return view;
  const [[marker, content] = ["", null]] = Object.entries(view);
  switch (marker) {
    case "$bytes_b64":
      return Buffer.from(String(content), "base64");
    case "$float":
      return new Float(Number(content));
    case "$int":
      return BigInt(String(content));
    case "$map":
      return new Map((content as [Json, Json][]).map(([key, item]) => [fromTypedView(key), fromTypedView(item)]));
    case "$tuple":
    case "$set":
      return (content as Json[]).map(fromTypedView);
    case "$datetime":
      return new Ext(datetimeType, Buffer.from(packedTime(String(content)), "latin1"));
    case "$constant":
      return new Ext(constantType, encode(content as Json[], "bin"));
    default:
      throw new Error(`unknown view ${marker}`);
  }
}

function packedTime(iso: string): string {
  const [date = "", time = "00:00:00"] = iso.split("T");
  return `${date.replaceAll("-", "")}T${time.includes(".") ? time : `${time}.000000`}`;
}

/** Writes `{"$repeat": [text, count]}` out, in any view. */
export function expand(view: Json): Json {
  if (Array.isArray(view)) return view.map(expand);
  if (typeof view !== "object" || view === null) return view;
  const repeat = view.$repeat;
  if (Array.isArray(repeat)) return String(repeat[0]).repeat(Number(repeat[1]));
  return Object.fromEntries(Object.entries(view).map(([key, item]) => [key, expand(item)]));
}

export function bytesFromBase64(text: Json | undefined): Buffer {
  if (typeof text !== "string") throw new Error("expected Base64");
  return Buffer.from(text, "base64");
}

export function bytesFromHex(text: Json | undefined): Buffer {
  if (typeof text !== "string") throw new Error("expected hex");
  return Buffer.from(text, "hex");
}
