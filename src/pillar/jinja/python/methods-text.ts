/** Python's methods of `str`. Methods that need a locale or bytes are missing, and calling them is an error. */

import { templateWidthMax } from "../../../limits.ts";
import { padded } from "../../../python/format/spec.ts";
import { formatText } from "../../../python/format/text.ts";
import { strOf } from "../../../python/repr.ts";
import { characters, textLength } from "../../../python/text.ts";
import { type Item, iterate, Tuple, typeName } from "../../../python/values.ts";
import { type Bound, bind } from "../values/arguments.ts";
import { type CallArguments, typeFault } from "../values/objects.ts";
import { itemOf } from "./operators.ts";

type Method = readonly [signature: string, run: (text: string, args: Bound) => Item];

const blanks = "[\\s\\x1c-\\x1f\\x85]";
/** Line ends of Python's `splitlines`. */
const lineBreak = "\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]";
const leadingBlanks = new RegExp(`^${blanks}+`);
const trailingBlanks = new RegExp(`${blanks}+$`);
const anyBlanks = new RegExp(`${blanks}+`);

function stripStart(text: string, set: string | undefined): string {
  if (set === undefined) return text.replace(leadingBlanks, "");
  const wanted = new Set(characters(set));
  const all = characters(text);
  let start = 0;
  while (start < all.length && wanted.has(all[start] ?? "")) start += 1;
  return all.slice(start).join("");
}

function stripEnd(text: string, set: string | undefined): string {
  if (set === undefined) return text.replace(trailingBlanks, "");
  const wanted = new Set(characters(set));
  const all = characters(text);
  let end = all.length;
  while (end > 0 && wanted.has(all[end - 1] ?? "")) end -= 1;
  return all.slice(0, end).join("");
}

function splitBlanks(text: string, limit: number): string[] {
  const parts: string[] = [];
  let rest = stripStart(text, undefined);
  while (rest !== "") {
    const gap = anyBlanks.exec(rest);
    if (gap === null || (limit >= 0 && parts.length === limit)) {
      parts.push(gap === null ? rest : stripEnd(rest, undefined));
      return parts;
    }
    parts.push(rest.slice(0, gap.index));
    rest = rest.slice(gap.index + gap[0].length);
  }
  return parts;
}

function reversed(text: string): string {
  return characters(text).toReversed().join("");
}

export function splitText(text: string, separator: string | undefined, limit: number): string[] {
  if (separator === undefined) return splitBlanks(text, limit);
  if (separator === "") throw typeFault("empty separator");
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

function splitFromEnd(text: string, separator: string | undefined, limit: number): string[] {
  if (limit < 0) return splitText(text, separator, limit);
  const parts = splitText(reversed(text), separator === undefined ? undefined : reversed(separator), limit);
  return parts.map(reversed).toReversed();
}

export function splitLines(text: string, keepsEnds: boolean): string[] {
  const pattern = new RegExp(lineBreak, "g");
  const lines: string[] = [];
  let start = 0;
  for (const found of text.matchAll(pattern)) {
    lines.push(text.slice(start, keepsEnds ? found.index + found[0].length : found.index));
    start = found.index + found[0].length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

export function titled(text: string): string {
  return text.toLowerCase().replaceAll(/\p{L}[\p{L}\p{M}]*/gu, capitalized);
}

export function capitalized(text: string): string {
  const [first = "", ...rest] = characters(text);
  return first.toUpperCase() + rest.join("").toLowerCase();
}

function replaced(text: string, from: string, to: string, count: number): string {
  if (count < 0) return text.split(from === "" ? /(?:)/u : from).join(to) || (from === "" ? to : "");
  let out = "";
  let rest = text;
  for (let done = 0; done < count; done += 1) {
    const at = rest.indexOf(from);
    if (at < 0) break;
    out += rest.slice(0, at) + to;
    rest = rest.slice(at + from.length);
    if (from === "") {
      if (rest === "") break;
      const [next = ""] = characters(rest);
      out += next;
      rest = rest.slice(next.length);
    }
  }
  return out + rest;
}

export function replaceText(text: string, from: string, to: string, count = -1): string {
  if (from === "" && count < 0)
    return (
      to +
      characters(text)
        .map((letter) => letter + to)
        .join("")
    );
  return replaced(text, from, to, count);
}

/** Applies `start` and `end` of a search, which may be negative. */
function window(text: string, args: Bound): { readonly part: string; readonly offset: number } {
  const all = characters(text);
  const place = (index: number) => Math.max(0, index < 0 ? index + all.length : Math.min(index, all.length));
  const start = place(args.integer("start", 0));
  const end = place(args.integer("end", all.length));
  return { part: all.slice(start, Math.max(start, end)).join(""), offset: start };
}

function find(text: string, args: Bound, isLast: boolean): number {
  const { part, offset } = window(text, args);
  const wanted = args.text("sub");
  const at = isLast ? part.lastIndexOf(wanted) : part.indexOf(wanted);
  return at < 0 ? -1 : offset + textLength(part.slice(0, at));
}

function found(text: string, args: Bound, isLast: boolean): number {
  const at = find(text, args, isLast);
  if (at < 0) throw typeFault("substring not found");
  return at;
}

function hasAffix(text: string, args: Bound, test: (part: string, affix: string) => boolean): boolean {
  const { part } = window(text, args);
  const wanted = args.need("prefix");
  if (typeof wanted === "string") return test(part, wanted);
  if (!(wanted instanceof Tuple)) throw typeFault(`first arg must be str or a tuple of str, not ${typeName(wanted)}`);
  return wanted.items.some((affix) => test(part, strOf(affix)));
}

export function joinTexts(separator: string, items: Item): string {
  return iterate(items)
    .map((item, index) => {
      if (typeof item === "string") return item;
      throw typeFault(`sequence item ${index}: expected str instance, ${typeName(item)} found`);
    })
    .join(separator);
}

function partition(text: string, separator: string, isLast: boolean): Tuple {
  if (separator === "") throw typeFault("empty separator");
  const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return new Tuple(isLast ? ["", "", text] : [text, "", ""]);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function justified(align: string) {
  return (text: string, args: Bound): Item => {
    const fill = args.text("fillchar", " ");
    const width = args.integer("width", 0);
    if (textLength(fill) !== 1) throw typeFault("The fill character must be exactly one character long");
    if (width > templateWidthMax) throw typeFault("width too big");
    const missing = width - textLength(text);
    if (align !== "^" || missing <= 0) return padded(text, width, align, fill);
    // Python puts the odd blank to the left of a text of even length, else to the right.
    const left = (missing >> 1) + (missing & width & 1);
    return fill.repeat(left) + text + fill.repeat(missing - left);
  };
}

function zeroFilled(text: string, args: Bound): Item {
  const signLength = /^[-+]/.test(text) ? 1 : 0;
  return padded(text, Math.min(args.integer("width", 0), 1_000_000), "=", "0", signLength);
}

const is = (pattern: RegExp) => (text: string) => pattern.test(text);
const isCased = /\p{Lu}|\p{Ll}|\p{Lt}/u;
const afterPrefix: Method = [
  "prefix",
  (text, args) => (text.startsWith(args.text("prefix")) ? text.slice(args.text("prefix").length) : text),
];

const methods: Readonly<Record<string, Method>> = {
  capitalize: ["", capitalized],
  casefold: ["", (text) => text.toLowerCase().replaceAll("ß", "ss")],
  center: ["width fillchar?", justified("^")],
  count: [
    "sub start? end?",
    (text, args) => {
      const { part } = window(text, args);
      const wanted = args.text("sub");
      return wanted === "" ? textLength(part) + 1 : part.split(wanted).length - 1;
    },
  ],
  endswith: ["prefix start? end?", (text, args) => hasAffix(text, args, (part, affix) => part.endsWith(affix))],
  expandtabs: ["tabsize?", expandTabs],
  find: ["sub start? end?", (text, args) => find(text, args, false)],
  index: ["sub start? end?", (text, args) => found(text, args, false)],
  isalnum: ["", is(/^[\p{L}\p{N}]+$/u)],
  isalpha: ["", is(/^\p{L}+$/u)],
  isascii: ["", is(/^[\0-\x7f]*$/)],
  isdecimal: ["", is(/^\p{Nd}+$/u)],
  isdigit: ["", is(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u)],
  isidentifier: ["", is(/^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$/u)],
  islower: ["", (text) => isCased.test(text) && text === text.toLowerCase()],
  isnumeric: ["", is(/^\p{N}+$/u)],
  isspace: ["", is(new RegExp(`^${blanks}+$`))],
  istitle: ["", (text) => isCased.test(text) && text === titled(text)],
  isupper: ["", (text) => isCased.test(text) && text === text.toUpperCase()],
  join: ["iterable", (text, args) => joinTexts(text, args.need("iterable"))],
  ljust: ["width fillchar?", justified("<")],
  lower: ["", (text) => text.toLowerCase()],
  lstrip: ["chars?", (text, args) => stripStart(text, args.optionalText("chars"))],
  partition: ["sep", (text, args) => partition(text, args.text("sep"), false)],
  removeprefix: afterPrefix,
  removesuffix: [
    "suffix",
    (text, args) => {
      const suffix = args.text("suffix");
      return suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
    },
  ],
  replace: [
    "old new count?",
    (text, args) => replaceText(text, args.text("old"), args.text("new"), args.integer("count", -1)),
  ],
  rfind: ["sub start? end?", (text, args) => find(text, args, true)],
  rindex: ["sub start? end?", (text, args) => found(text, args, true)],
  rjust: ["width fillchar?", justified(">")],
  rpartition: ["sep", (text, args) => partition(text, args.text("sep"), true)],
  rsplit: [
    "sep? maxsplit?",
    (text, args) => splitFromEnd(text, args.optionalText("sep"), args.integer("maxsplit", -1)),
  ],
  rstrip: ["chars?", (text, args) => stripEnd(text, args.optionalText("chars"))],
  split: ["sep? maxsplit?", (text, args) => splitText(text, args.optionalText("sep"), args.integer("maxsplit", -1))],
  splitlines: ["keepends?", (text, args) => splitLines(text, args.flag("keepends", false))],
  startswith: ["prefix start? end?", (text, args) => hasAffix(text, args, (part, affix) => part.startsWith(affix))],
  strip: ["chars?", (text, args) => stripBoth(text, args.optionalText("chars"))],
  swapcase: [
    "",
    (text) =>
      Array.from(text, (letter) =>
        letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
      ).join(""),
  ],
  title: ["", titled],
  upper: ["", (text) => text.toUpperCase()],
  zfill: ["width", zeroFilled],
};

export function stripBoth(text: string, set: string | undefined): string {
  return stripEnd(stripStart(text, set), set);
}

function expandTabs(text: string, args: Bound): Item {
  const size = args.integer("tabsize", 8);
  let column = 0;
  let out = "";
  for (const letter of text) {
    if (letter === "\t") {
      const blanksToAdd = size > 0 ? size - (column % size) : 0;
      out += " ".repeat(blanksToAdd);
      column += blanksToAdd;
    } else {
      out += letter;
      column = letter === "\n" || letter === "\r" ? 0 : column + 1;
    }
  }
  return out;
}

/** The method of that name; undefined if it does not exist here. */
export function textMethod(text: string, name: string): ((args: CallArguments) => Item) | undefined {
  if (name === "format") return (args) => formatText(text, args, itemOf);
  if (!Object.hasOwn(methods, name)) return undefined;
  const method = methods[name];
  if (method === undefined) return undefined;
  const [signature, run] = method;
  return (args) => run(text, bind(name, signature, args));
}
