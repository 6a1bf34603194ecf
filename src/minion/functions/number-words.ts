/** Reads arguments as Salt's functions do: words that mean yes, and whole numbers by Python's `int()`. */
import { reprOf } from "../../python/repr.ts";
import { isTrue, numberOf, typeName } from "../../python/values.ts";
import type { Value } from "../../wire/values.ts";
import { argumentError, pythonException } from "./errors.ts";

/** Whether Salt takes a word for "yes": a number above zero, or the text `true` in any case. */
export function isYes(value: Value): boolean {
  const number = typeof value === "string" ? numericText(value) : numberOf(value);
  if (number !== undefined) return number > 0;
  return typeof value === "string" ? value.toLowerCase() === "true" : isTrue(value);
}

function numericText(text: string): number | undefined {
  return /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i.test(text) ? Number(text) : undefined;
}

/** `int(value)`: drops the fraction of a number; a text must be a whole number. @throws Python's errors */
export function wholeNumber(value: Value): number {
  const number = numberOf(value);
  if (number !== undefined) {
    if (Number.isNaN(number)) throw pythonException("ValueError", "cannot convert float NaN to integer");
    if (!Number.isFinite(number)) throw pythonException("OverflowError", "cannot convert float infinity to integer");
    return Math.trunc(number);
  }
  if (typeof value !== "string") {
    const wanted = "a string, a bytes-like object or a real number";
    throw argumentError(`int() argument must be ${wanted}, not '${typeName(value)}'`);
  }
  if (/^\s*[-+]?\d+(_\d+)*\s*$/.test(value)) return Number(value.replaceAll("_", ""));
  throw pythonException("ValueError", `invalid literal for int() with base 10: ${reprOf(value)}`);
}
