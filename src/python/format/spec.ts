/** Python's format specification, `[[fill]align][sign][#][0][width][grouping][.precision][type]`, for numbers and text. */

import { formatWidthMax } from "../../limits.ts";
import type { Float } from "../../wire/values.ts";
import { raised } from "../errors.ts";
import { reprFloat, strOf } from "../repr.ts";
import { characters } from "../text.ts";
import { asNumber, type Item, isInteger, isNumber, typeName } from "../values.ts";

const specPattern = /^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([_,])?(?:\.(\d+))?([a-zA-Z%])?$/su;

type Spec = {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly isAlternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
};

function readSpec(text: string, isNumeric: boolean): Spec {
  const match = specPattern.exec(text);
  if (match === null) throw raised("ValueError", "Invalid format specifier");
  const [, fill, align, sign = "-", alternate, zero, width = "0", grouping = "", precision, type = ""] = match;
  if (Number(width) > formatWidthMax || Number(precision ?? 0) > formatWidthMax)
    throw raised("ValueError", "Too many decimal digits in format string");
  return {
    fill: fill ?? (zero !== undefined && align === undefined ? "0" : " "),
    align: align ?? (zero !== undefined && isNumeric ? "=" : isNumeric ? ">" : "<"),
    sign,
    isAlternate: alternate !== undefined,
    width: Number(width),
    grouping,
    precision: precision === undefined ? undefined : Number(precision),
    type,
  };
}

export function padded(text: string, width: number, align: string, fill: string, signLength = 0): string {
  const missing = width - characters(text).length;
  if (missing <= 0) return text;
  if (align === "<") return text + fill.repeat(missing);
  if (align === "^") return fill.repeat(missing >> 1) + text + fill.repeat(missing - (missing >> 1));
  if (align === "=") return text.slice(0, signLength) + fill.repeat(missing) + text.slice(signLength);
  return fill.repeat(missing) + text;
}

function grouped(digits: string, separator: string, size: number): string {
  if (separator === "") return digits;
  const [, whole = "", rest = ""] = /^(\w*)(.*)$/s.exec(digits) ?? [];
  const parts: string[] = [];
  for (let end = whole.length; end > 0; end -= size) parts.unshift(whole.slice(Math.max(0, end - size), end));
  return parts.join(separator) + rest;
}

const radixes: Readonly<Record<string, readonly [radix: number, prefix: string]>> = {
  b: [2, "0b"],
  o: [8, "0o"],
  x: [16, "0x"],
  X: [16, "0X"],
};

function integerDigits(value: bigint, spec: Spec): string {
  const magnitude = value < 0n ? -value : value;
  const based = radixes[spec.type];
  if (based === undefined) return grouped(magnitude.toString(), spec.grouping, 3);
  const [radix, prefix] = based;
  const digits = magnitude.toString(radix);
  const shown = spec.type === "X" ? digits.toUpperCase() : digits;
  return (spec.isAlternate ? prefix : "") + grouped(shown, spec.grouping, 4);
}

/** `%e` of C: the exponent has at least two digits. */
export function exponentText(value: number, precision: number): string {
  const digits = Math.min(precision, mostDigits);
  const [below = "", power = ""] = value.toExponential(Math.min(digits + 1, mostDigits)).split("e");
  const isKept = isExactHalf(value.toExponential(mostDigits).split("e")[0] ?? "", digits) && isEven(cut(below));
  const text = isKept ? `${cut(below)}e${power}` : value.toExponential(digits);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

/** `%g` of C. */
export function generalText(value: number, precision: number, keepsZeros: boolean): string {
  const digits = Math.max(1, precision);
  const exponent = value === 0 ? 0 : Number(value.toExponential(Math.min(digits - 1, 100)).split("e")[1]);
  const isScientific = exponent < -4 || exponent >= digits;
  const text = isScientific ? exponentText(value, digits - 1) : fixedText(value, digits - 1 - exponent);
  if (keepsZeros) return text;
  const [mantissa = "", power] = text.split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return power === undefined ? short : `${short}e${power}`;
}

/** Half to even on the exact binary value, as C's `printf`; JavaScript's `toFixed` rounds a half up, and gives up from 1e21 on. */
export function fixedText(value: number, precision: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(value).toString() + (precision > 0 ? `.${"0".repeat(precision)}` : "");
  const digits = Math.min(precision, mostDigits);
  const below = cut(value.toFixed(Math.min(digits + 1, mostDigits)));
  return isExactHalf(value.toFixed(mostDigits), digits) && isEven(below) ? below : value.toFixed(digits);
}

/** Most digits of `toFixed` and `toExponential`: enough to detect an exact half. */
const mostDigits = 100;

/** Whether exactly a 5 follows the first `digits` digits of the fraction. */
function isExactHalf(exact: string, digits: number): boolean {
  return /^50*$/.test(exact.slice(exact.indexOf(".") + 1 + digits));
}

function isEven(digits: string): boolean {
  return /[02468]$/.test(digits);
}

/** Removes the last digit, and the point if it then ends the text. */
function cut(digits: string): string {
  return digits.slice(0, -1).replace(/\.$/, "");
}

function floatDigits(value: number, spec: Spec): string {
  const magnitude = Math.abs(value);
  if (!Number.isFinite(magnitude)) return Number.isNaN(magnitude) ? "nan" : "inf";
  const precision = spec.precision ?? 6;
  switch (spec.type) {
    case "e":
    case "E":
      return exponentText(magnitude, precision);
    case "f":
    case "F":
      return fixedText(magnitude, precision);
    case "%":
      return `${fixedText(magnitude * 100, precision)}%`;
    case "g":
    case "G":
      return generalText(magnitude, precision, spec.isAlternate);
    case "":
      return spec.precision === undefined ? reprFloat(magnitude) : generalText(magnitude, precision, false);
    default:
      throw raised("ValueError", `Unknown format code '${spec.type}' for object of type 'float'`);
  }
}

function numberText(item: number | bigint | Float | boolean, spec: Spec): string {
  const isWhole = isInteger(item) || typeof item === "boolean";
  const isAsInteger = isWhole && (spec.type === "" || "dnboxXc".includes(spec.type));
  if (isAsInteger && spec.precision !== undefined)
    throw raised("ValueError", "Precision not allowed in integer format specifier");
  if (isAsInteger && spec.type === "c") return padded(String.fromCodePoint(Number(item)), spec.width, "<", spec.fill);
  const number = asNumber(item);
  const isNegative = number < 0 || Object.is(number, -0);
  const integer = typeof item === "bigint" ? item : isAsInteger ? BigInt(number) : 0n;
  const plain = isAsInteger ? integerDigits(integer, spec) : grouped(floatDigits(number, spec), spec.grouping, 3);
  const digits = "EFG".includes(spec.type) && spec.type !== "" ? plain.toUpperCase() : plain;
  const sign = isNegative ? "-" : spec.sign === "-" ? "" : spec.sign;
  const prefix = spec.isAlternate && isAsInteger ? (/^0[boxX]/.exec(digits)?.[0].length ?? 0) : 0;
  return padded(sign + digits, spec.width, spec.align, spec.fill, sign.length + prefix);
}

/** `format(item, spec)` */
export function formatSpec(item: Item, specText: string): string {
  if (specText === "") return strOf(item);
  if (isNumber(item) && !(typeof item === "boolean" && specText === "")) {
    const spec = readSpec(specText, true);
    if (spec.type === "s") throw raised("ValueError", `Unknown format code 's' for object of type '${typeName(item)}'`);
    return numberText(item, spec);
  }
  if (typeof item !== "string")
    throw raised("TypeError", `unsupported format string passed to ${typeName(item)}.__format__`);
  const spec = readSpec(specText, false);
  if (spec.type !== "" && spec.type !== "s")
    throw raised("ValueError", `Unknown format code '${spec.type}' for object of type 'str'`);
  if (spec.align === "=") throw raised("ValueError", "'=' alignment not allowed in string format specifier");
  const text = spec.precision === undefined ? item : characters(item).slice(0, spec.precision).join("");
  return padded(text, spec.width, spec.align, spec.fill);
}
