/** How values are written: Python's `str()` and `repr()`, and Salt's form of maps that are printed in a template. */
import { reprBytes, reprFloat, reprText } from "../../../python/repr.ts";
import { Ext, Float } from "../../../wire/values.ts";
import {
  Callable,
  type Item,
  isEmptyUndefined,
  isFloat,
  Members,
  Namespace,
  Series,
  Tuple,
  typeFault,
  typeName,
} from "./values.ts";

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

type Style = { readonly isPrinted: boolean };
const plainStyle: Style = { isPrinted: false };
/** What `{{ }}` prints: texts with line breaks, as values of maps, in YAML's double quotes instead of Python's. */
const printedStyle: Style = { isPrinted: true };

function mapText(map: ReadonlyMap<Item, Item>, style: Style): string {
  const pairs = Array.from(map, ([key, value]) => {
    const isBroken = style.isPrinted && typeof value === "string" && /[\n\r\t]/.test(value);
    return `${reprOf(key, plainStyle)}: ${isBroken ? doubleQuoted(value) : reprOf(value, style)}`;
  });
  return `{${pairs.join(", ")}}`;
}

function seriesText(series: Series): string {
  const { kind, items } = series;
  if (kind === "generator") throw typeFault("a generator has no text: add |list or |join");
  if (kind === "set") throw typeFault("printing a set, which has no order, is not supported: add |sort or |join");
  if (kind !== "range") return `${kind}([${items.map((item) => reprOf(item, plainStyle)).join(", ")}])`;
  const [first = 0, second] = items as readonly number[];
  const step = second === undefined ? 1 : second - first;
  const end = first + step * items.length;
  return step === 1 ? `range(${first}, ${end})` : `range(${first}, ${end}, ${step})`;
}

function reprOf(item: Item, style: Style): string {
  if (isEmptyUndefined(item)) return style.isPrinted ? "" : "Undefined";
  if (item === null) return "None";
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item === "bigint") return item.toString();
  if (isFloat(item)) return reprFloat(item instanceof Float ? item.value : item);
  if (typeof item === "number") return String(item);
  if (typeof item === "string") return reprText(item);
  if (item instanceof Uint8Array) return reprBytes(item);
  if (Array.isArray(item)) return `[${item.map((member) => reprOf(member, style)).join(", ")}]`;
  if (item instanceof Tuple) {
    const inner = item.items.map((member) => reprOf(member, style)).join(", ");
    return item.items.length === 1 ? `(${inner},)` : `(${inner})`;
  }
  if (item instanceof Map) return mapText(item, style);
  if (item instanceof Series) return seriesText(item);
  if (item instanceof Members && item.text !== undefined) return item.text;
  if (item instanceof Callable || item instanceof Members || item instanceof Namespace || item instanceof Ext)
    throw typeFault(`a ${typeName(item)} has no text that two runs would share`);
  return "";
}

/** Python's `repr()`. @throws PILLAR_FAILED for what is undefined or has no stable text */
export function repr(item: Item): string {
  return reprOf(item, plainStyle);
}

/** Python's `str()`. */
export function str(item: Item): string {
  if (isEmptyUndefined(item)) return "";
  return typeof item === "string" ? item : reprOf(item, plainStyle);
}

/** What `{{ item }}` prints. */
export function printed(item: Item): string {
  return typeof item === "string" ? item : reprOf(item, printedStyle);
}
