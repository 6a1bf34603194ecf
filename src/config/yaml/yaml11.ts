/**
 * Reads one YAML 1.1 value on one line as PyYAML and Salt do: `y` and `n` are text, `010` is 10, dates stay text, repeated keys are errors.
 * Source: https://yaml.org/type/, and what Salt answered, recorded in test/golden/yamlify.json.
 */
import { parseYamlLine, tagPrefix, type YamlNode, type YamlPair } from "./nodes.ts";
import { Unreadable } from "./tokens.ts";

type PlainKind = "null" | "bool" | "int" | "float" | "timestamp" | "merge" | "value" | "text";

/** Patterns of plain scalars, in order of precedence. */
export const plainPatterns: readonly (readonly [PlainKind, RegExp])[] = [
  ["null", /^(?:~|null|Null|NULL|)$/],
  ["bool", /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/],
  ["int", /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/],
  [
    "float",
    /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|\.(?:inf|Inf|INF))$/,
  ],
  ["float", /^\.(?:[0-9][0-9_]*(?:[eE][-+][0-9]+)?|nan|NaN|NAN)$/],
  ["timestamp", /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/],
  [
    "timestamp",
    /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$/,
  ],
  ["merge", /^<<$/],
  ["value", /^=$/],
];

/** The kind of a scalar without quotes and without a tag. */
export function plainKind(text: string): PlainKind {
  return plainPatterns.find(([, pattern]) => pattern.test(text))?.[0] ?? "text";
}

/** `F`: the type for floats with an integral value, which distinguishes `1.0` from `1`. Other floats are numbers. */
export type YamlValue<F> = null | boolean | number | bigint | string | Uint8Array | F | YamlValue<F>[] | YamlMap<F>;
type YamlMap<F> = Map<YamlValue<F>, YamlValue<F>>;

/** Reads one line. Undefined if PyYAML or Salt refuses it: bad syntax, unknown tags, repeated or unhashable keys. */
export function readYaml<F>(text: string, floatOf: (value: number) => F): { value: YamlValue<F> } | undefined {
  try {
    return { value: new Reader(floatOf).read(parseYamlLine(text)) };
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

class Reader<F> {
  readonly #floatOf: (value: number) => F;

  constructor(floatOf: (value: number) => F) {
    this.#floatOf = floatOf;
  }

  read(node: YamlNode): YamlValue<F> {
    if (node.kind === "scalar") return this.#wrap(scalarOf(node));
    if (node.tag !== undefined && node.tag !== `${tagPrefix}${node.kind === "list" ? "seq" : "map"}`)
      throw new Unreadable();
    return node.kind === "list" ? node.items.map((item) => this.read(item)) : this.#map(node.pairs);
  }

  #wrap({ value, isFloat }: Scalar): YamlValue<F> {
    return isFloat && typeof value === "number" && Number.isInteger(value) ? this.#floatOf(value) : value;
  }

  #map(pairs: readonly YamlPair[]): YamlMap<F> {
    const map: YamlMap<F> = new Map();
    const seen = new Set<string>();
    for (const [keyNode, valueNode] of mergePairs(pairs)) {
      if (keyNode.kind !== "scalar") throw new Unreadable();
      const key = isPlainOf(keyNode, "value") ? { value: "=", isFloat: false } : scalarOf(keyNode);
      const identity = identityOf(key.value);
      if (seen.has(identity)) throw new Unreadable();
      seen.add(identity);
      map.set(this.#wrap(key), this.read(valueNode));
    }
    return map;
  }
}

type Scalar = { readonly value: null | boolean | number | bigint | string | Uint8Array; readonly isFloat: boolean };

function scalarOf({ text, isPlain, tag }: YamlNode & { kind: "scalar" }): Scalar {
  const kind = tag === undefined ? (isPlain ? plainKind(text) : "text") : taggedKind(tag);
  if (kind === "float") return { value: floatOfText(text), isFloat: true };
  return { value: valueOfKind(kind, text), isFloat: false };
}

function valueOfKind(kind: ScalarKind, text: string): Scalar["value"] {
  if (kind === "null") return null;
  if (kind === "bool") return boolOf(text);
  if (kind === "int") return intOf(text);
  if (kind === "binary") return bytesOf(text);
  if (kind === "merge" || kind === "value") throw new Unreadable();
  return text;
}

/** The value of a plain scalar of this kind; undefined if PyYAML refuses it. */
export function plainValue(kind: PlainKind, text: string): { readonly value: Scalar["value"] } | undefined {
  try {
    return { value: kind === "float" ? floatOfText(text) : valueOfKind(kind, text) };
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

type ScalarKind = PlainKind | "binary";

function isPlainOf(node: YamlNode, kind: PlainKind): boolean {
  if (node.kind !== "scalar") return false;
  return node.tag === undefined ? node.isPlain && plainKind(node.text) === kind : node.tag === tagPrefix + kind;
}

/** Replaces each `<<` pair by the pairs of the maps that it names, placed first. A key of the map itself wins over a merged one. */
function mergePairs(pairs: readonly YamlPair[]): readonly YamlPair[] {
  const own = pairs.filter(([key]) => !isPlainOf(key, "merge"));
  if (own.length === pairs.length) return pairs;
  const merged = pairs.filter(([key]) => isPlainOf(key, "merge")).flatMap(([, value]) => mergedPairs(value));
  const ownKeys = new Set(own.map(([key]) => textOf(key)));
  return [...merged.filter(([key]) => !ownKeys.has(textOf(key))), ...own];
}

function mergedPairs(node: YamlNode): readonly YamlPair[] {
  if (node.kind === "map") return mergePairs(node.pairs);
  if (node.kind !== "list") throw new Unreadable();
  return node.items.toReversed().flatMap((item) => {
    if (item.kind !== "map") throw new Unreadable();
    return mergePairs(item.pairs);
  });
}

function textOf(node: YamlNode): unknown {
  return node.kind === "scalar" ? node.text : node;
}

function taggedKind(tag: string): ScalarKind {
  const name = tag.startsWith(tagPrefix) ? tag.slice(tagPrefix.length) : "";
  if (name === "str" || tag === "!") return "text";
  if (["null", "bool", "int", "float", "timestamp", "binary"].includes(name)) return name as ScalarKind;
  throw new Unreadable();
}

const trueWords = ["yes", "true", "on"];
const falseWords = ["no", "false", "off"];

function boolOf(text: string): boolean {
  const word = text.toLowerCase();
  if (trueWords.includes(word)) return true;
  if (falseWords.includes(word)) return false;
  throw new Unreadable();
}

/** Reads base 60: `1:30` is 90. The last part may have a fraction. */
function baseSixty(text: string): number {
  return text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Salt ignores leading zeros, except after a sign, where they mean octal. */
function intOf(source: string): number | bigint {
  const decimal = /^0+(?![bx])/.test(source) ? source.replace(/^0+/, "") || "0" : source;
  const digits = decimal.replaceAll("_", "").trim();
  const [, sign = "", size = ""] = /^([-+]?)(.*)$/s.exec(digits) ?? [];
  const value = sizeOf(size) * (sign === "-" ? -1n : 1n);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function sizeOf(size: string): bigint {
  if (/^0b[01]+$/.test(size) || /^0x[0-9a-f]+$/i.test(size)) return BigInt(size);
  if (/^0[0-7]+$/.test(size)) return BigInt(`0o${size}`);
  if (/^[0-9]+(?::[0-9]+)+$/.test(size)) return BigInt(baseSixty(size));
  if (/^[0-9]+$/.test(size)) return BigInt(size);
  throw new Unreadable();
}

function floatOfText(source: string): number {
  const text = source.replaceAll("_", "").toLowerCase().trim();
  const [, sign = "", size = ""] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const factor = sign === "-" ? -1 : 1;
  if (/^(?:\.?inf|infinity)$/.test(size)) return factor * Number.POSITIVE_INFINITY;
  if (/^\.?nan$/.test(size)) return Number.NaN;
  if (/^[0-9]+(?::[0-9]+)+\.?[0-9]*$/.test(size)) return factor * baseSixty(size);
  if (/^(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?$/.test(size)) return factor * Number(size);
  throw new Unreadable();
}

function bytesOf(text: string): Uint8Array {
  const digits = text.replaceAll(/[^A-Za-z0-9+/=]/g, "");
  if (digits.length % 4 !== 0) throw new Unreadable();
  return Buffer.from(digits, "base64");
}

/** A text that is the same for keys that are equal in Python, such as 1, 1.0 and true. */
function identityOf(key: Scalar["value"]): string {
  if (key instanceof Uint8Array) return `bytes ${Buffer.from(key).toString("latin1")}`;
  if (typeof key === "string" || key === null) return `${typeof key} ${key}`;
  return `number ${typeof key === "boolean" ? Number(key) : key}`;
}
