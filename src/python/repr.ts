/** Python's `repr` and `str`, for `--out=raw`, `txt` and `pprint`, for targets that compare values as texts, and for templates. */
import { Ext, Float } from "../wire/values.ts";
import { raised } from "./errors.ts";
import { isNothing, isReadList, isReadMap, type ReadItem, Series, Tuple } from "./values.ts";

/** `str.isprintable` is false for these, and `repr` escapes them. The plain blank is a separator, but printable. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Printable ASCII without quotes and backslashes: most texts, to which `repr` adds only quotes. */
const ordinary = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

/** `isPrinted`: the form in which Salt's templates print a map: texts with line breaks get YAML's double quotes. */
type Style = { readonly isPrinted: boolean };
const plainStyle: Style = { isPrinted: false };
const printedStyle: Style = { isPrinted: true };

/** `repr` of a value; containers print their members' `repr` in their order of arrival. @throws for a value without a stable text */
export function reprOf(item: ReadItem): string {
  return reprIn(item, plainStyle);
}

/** `str` of a value: text as it is, anything else as its `repr`. @throws as `reprOf` */
export function strOf(item: ReadItem): string {
  if (isNothing(item)) return "";
  return typeof item === "string" ? item : reprIn(item, plainStyle);
}

/** What `{{ item }}` prints in a template. @throws as `reprOf` */
export function printedOf(item: ReadItem): string {
  return typeof item === "string" ? item : reprIn(item, printedStyle);
}

function reprIn(item: ReadItem, style: Style): string {
  if (item === null) return "None";
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item === "string") return reprText(item);
  if (typeof item === "bigint") return item.toString();
  if (typeof item === "number") return Number.isInteger(item) ? BigInt(item).toString() : reprFloat(item);
  if (item instanceof Float) return reprFloat(item.value);
  if (item instanceof Uint8Array) return reprBytes(item);
  if (item instanceof Ext) return `ExtType(code=${item.type}, data=${reprBytes(item.data)})`;
  if (isReadList(item)) return `[${item.map((member) => reprIn(member, style)).join(", ")}]`;
  if (isReadMap(item)) return mapText(item, style);
  if (item instanceof Tuple) {
    const inner = item.items.map((member) => reprIn(member, style)).join(", ");
    return item.items.length === 1 ? `(${inner},)` : `(${inner})`;
  }
  if (item instanceof Series) return seriesText(item);
  return style.isPrinted && isNothing(item) ? "" : item.repr();
}

function mapText(map: ReadonlyMap<ReadItem, ReadItem>, style: Style): string {
  const pairs = Array.from(map, ([key, value]) => {
    const isBroken = style.isPrinted && typeof value === "string" && /[\n\r\t]/.test(value);
    return `${reprIn(key, plainStyle)}: ${isBroken ? doubleQuoted(value) : reprIn(value, style)}`;
  });
  return `{${pairs.join(", ")}}`;
}

function seriesText(series: Series): string {
  const { kind, items } = series;
  if (kind === "generator") throw raised("TypeError", "a generator has no text: add |list or |join");
  if (kind === "set")
    throw raised("TypeError", "printing a set, which has no order, is not supported: add |sort or |join");
  if (kind !== "range") return `${kind}([${items.map(reprOf).join(", ")}])`;
  const [first = 0, second] = items as readonly number[];
  const step = second === undefined ? 1 : second - first;
  const end = first + step * items.length;
  return step === 1 ? `range(${first}, ${end})` : `range(${first}, ${end}, ${step})`;
}

/** Shortest digits that read back as the same float, in Python's choice of positional or exponent form. */
export function reprFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa = "", power = ""] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  const sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const size = Math.abs(exponent).toString().padStart(2, "0");
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** Uses single quotes unless the text has a single quote and no double one. */
export function reprText(text: string): string {
  if (ordinary.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const character of text) {
    if (character === quote) body += `\\${quote}`;
    else if (character in shortEscapes) body += shortEscapes[character];
    else if (unprintable.test(character)) body += escapeCodePoint(character.codePointAt(0) ?? 0);
    else body += character;
  }
  return quote + body + quote;
}

function escapeCodePoint(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

export function reprBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (character === quote) body += `\\${quote}`;
    else if (character in shortEscapes) body += shortEscapes[character];
    else if (code < 0x20 || code > 0x7e) body += escapeCodePoint(code);
    else body += character;
  }
  return `b${quote}${body}${quote}`;
}

/** PyYAML's double quotes, which Salt uses for texts with line breaks inside a printed map. */
export function doubleQuoted(text: string): string {
  const named: Readonly<Record<string, string>> = {
    "\0": "\\0",
    "\x07": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
  };
  let out = "";
  for (const character of text) {
    const name = named[character];
    if (name !== undefined) out += name;
    else if (character >= " " && character <= "~") out += character;
    else {
      const code = character.codePointAt(0) ?? 0;
      if (code <= 0xff) out += `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
      else if (code <= 0xffff) out += `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
      else out += `\\U${code.toString(16).toUpperCase().padStart(8, "0")}`;
    }
  }
  return `"${out}"`;
}
