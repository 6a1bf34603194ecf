/** Keys that are not text, as an expression spells them. Salt reads a word as YAML if the map has no text key of that name. Pure. */
import type { Datum, DatumMap } from "./facts.ts";

const nulls = new Set(["~", "null", "Null", "NULL", "None"]);
const trues = /^(?:true|True|TRUE|yes|Yes|YES|on|On|ON)$/;
const falses = /^(?:false|False|FALSE|no|No|NO|off|Off|OFF)$/;
const decimal = /^[-+]?[0-9]+$/;
const radix = /^([-+]?)(0x[0-9a-fA-F]+|0b[01]+)$/;
const fraction = /^[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?)$/;

/** Keys that `word` may spell, the most likely first. Python takes 1 and True for one key, and 0 and False. */
export function typedKeys(word: string): readonly Datum[] {
  if (nulls.has(word)) return [null];
  if (trues.test(word)) return [true, 1];
  if (falses.test(word)) return [false, 0];
  const number = numberOf(word);
  if (number === undefined) return [];
  if (number === 1) return [1, true];
  return number === 0 ? [0, false] : [number];
}

/** Whether `word` may spell a float without a fraction, which `typedKeys` cannot return. */
export function mayBeWholeFloat(word: string): boolean {
  return Number.isInteger(numberOf(word));
}

/** Returns the child under a key that is not text and that `word` spells. */
export function typedChild(map: DatumMap, word: string): Datum | undefined {
  for (const key of typedKeys(word)) {
    const child = map.get(key);
    if (child !== undefined) return child;
  }
  if (!mayBeWholeFloat(word)) return undefined;
  const number = Number(word);
  for (const [key, child] of map) {
    if (typeof key === "object" && key !== null && "value" in key && key.value === number) return child;
  }
  return undefined;
}

function numberOf(word: string): number | bigint | undefined {
  if (decimal.test(word)) return ofSafeSize(Number(word), () => BigInt(word.replace("+", "")));
  const [, sign, digits = ""] = radix.exec(word) ?? [];
  if (sign !== undefined) return Number(digits) * (sign === "-" ? -1 : 1);
  return fraction.test(word) ? Number(word) : undefined;
}

function ofSafeSize(number: number, whole: () => bigint): number | bigint {
  return Number.isSafeInteger(number) ? number : whole();
}
