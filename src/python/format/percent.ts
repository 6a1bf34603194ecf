/** Python's `text % values`. Source: Python's "printf-style String Formatting". */

import { formatWidthMax } from "../../limits.ts";
import { raised } from "../errors.ts";
import { reprOf, strOf } from "../repr.ts";
import { characters } from "../text.ts";
import { demand, getKey, type Item, isInteger, isNumber, Tuple, typeName } from "../values.ts";
import { exponentText, fixedText, generalText, padded } from "./spec.ts";

const directive = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([\s\S])/g;

type Flags = { readonly text: string; readonly width: number; readonly precision: number | undefined };

function numberDirective(item: Item, conversion: string, flags: Flags): string {
  demand(item);
  if (!isNumber(item)) {
    const wanted = "diu".includes(conversion)
      ? `%${conversion} format: a real number is required`
      : "must be real number";
    throw raised(
      "TypeError",
      wanted.startsWith("%") ? `${wanted}, not ${typeName(item)}` : `${wanted}, not ${typeName(item)}`,
    );
  }
  const isWhole = isInteger(item) || typeof item === "boolean";
  const number =
    typeof item === "bigint" ? item : Number(isWhole ? item : typeof item === "object" ? item.value : item);
  let digits: string;
  const magnitude = number < 0 ? -number : number;
  if ("diu".includes(conversion))
    digits = typeof magnitude === "bigint" ? `${magnitude}` : BigInt(Math.trunc(magnitude)).toString();
  else if ("oxX".includes(conversion)) {
    if (!isWhole) throw raised("TypeError", `%${conversion} format: an integer is required, not ${typeName(item)}`);
    const radix = conversion === "o" ? 8 : 16;
    digits = (flags.text.includes("#") ? `0${conversion}` : "") + magnitude.toString(radix);
    if (conversion === "X") digits = digits.toUpperCase();
  } else {
    const precision = flags.precision ?? 6;
    const value = Number(magnitude);
    const lower = conversion.toLowerCase();
    if (lower === "f") digits = fixedText(value, precision);
    else if (lower === "e") digits = exponentText(value, precision);
    else digits = generalText(value, precision, flags.text.includes("#"));
    if (conversion !== lower) digits = digits.toUpperCase();
  }
  const isNegative = number < 0 || Object.is(number, -0);
  const sign = isNegative ? "-" : flags.text.includes("+") ? "+" : flags.text.includes(" ") ? " " : "";
  if (flags.text.includes("-")) return padded(sign + digits, flags.width, "<", " ");
  return flags.text.includes("0")
    ? padded(sign + digits, flags.width, "=", "0", sign.length)
    : padded(sign + digits, flags.width, ">", " ");
}

function textDirective(item: Item, conversion: string, flags: Flags): string {
  const whole = conversion === "s" ? strOf(item) : reprOf(item);
  const text = flags.precision === undefined ? whole : characters(whole).slice(0, flags.precision).join("");
  return padded(text, flags.width, flags.text.includes("-") ? "<" : ">", " ");
}

/** @throws PYTHON_RAISED as Python would raise */
export function formatPercent(format: string, values: Item): string {
  const row = values instanceof Tuple ? values.items : [values];
  let used = 0;
  let isMapped = false;
  const take = (): Item => {
    const item = row[used];
    if (item === undefined) throw raised("TypeError", "not enough arguments for format string");
    used += 1;
    return item;
  };
  const size = (text: string | undefined): number | undefined => {
    if (text === undefined) return undefined;
    const number = Number(text === "*" ? take() : text);
    if (!(number <= formatWidthMax)) throw raised("ValueError", "width too big");
    return number;
  };
  const out = format.replaceAll(
    directive,
    (_whole, key: string | undefined, text: string, width, precision, conversion: string) => {
      if (conversion === "%") return "%";
      if (!"diouxXeEfFgGsra".includes(conversion))
        throw raised(
          "ValueError",
          `unsupported format character '${conversion}' (0x${conversion.charCodeAt(0).toString(16)})`,
        );
      const flags: Flags = { text, width: size(width) ?? 0, precision: size(precision) };
      let item: Item;
      if (key === undefined) item = take();
      else {
        if (!(values instanceof Map)) throw raised("TypeError", "format requires a mapping");
        isMapped = true;
        const found = getKey(values, key);
        if (found === undefined) throw raised("KeyError", reprOf(key));
        item = found;
      }
      return "sra".includes(conversion)
        ? textDirective(item, conversion, flags)
        : numberDirective(item, conversion, flags);
    },
  );
  if (/%$/.test(format.replaceAll(directive, ""))) throw raised("ValueError", "incomplete format");
  const isLeftOver = used < row.length && !isMapped && !(values instanceof Map && used === 0);
  if (isLeftOver) throw raised("TypeError", "not all arguments converted during string formatting");
  return out;
}
