/** Writes values as JSON. Bytes that are not text become replacement characters, so that no value fails a whole answer. */

import { decode } from "../../wire/msgpack.ts";
import { type Encodable, Ext, Float, Packed } from "../../wire/values.ts";

const isNamed = (value: unknown): value is { readonly [key: string]: Encodable } =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function floatText(value: number): string {
  // JSON has no form for these; browsers would refuse Python's `NaN`.
  if (!Number.isFinite(value)) return "null";
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : String(value);
}

function keyText(key: Encodable): string {
  if (typeof key === "string") return key;
  if (key instanceof Uint8Array) return Buffer.from(key).toString();
  return jsonText(key);
}

/** A map that goes into many answers: its JSON is written once. It must not be changed after that. */
export class WrittenOnce extends Map<Encodable, Encodable> {
  #json: string | undefined;

  get json(): string {
    this.#json ??= mapText([...this]);
    return this.#json;
  }
}

function mapText(entries: readonly (readonly [Encodable, Encodable])[]): string {
  const members = entries.filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(keyText(key))}: ${jsonText(member)}`).join(", ")}}`;
}

export function jsonText(value: Encodable): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : floatText(value);
  if (value instanceof Float) return floatText(value.value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString());
  if (value instanceof Ext) return JSON.stringify(Buffer.from(value.data).toString());
  if (value instanceof Packed) return jsonText(decode(Buffer.concat(value.pieces)));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (value instanceof WrittenOnce) return value.json;
  return mapText(value instanceof Map ? [...value] : isNamed(value) ? Object.entries(value) : []);
}
