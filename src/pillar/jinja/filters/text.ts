/** Jinja's and Salt's filters from text to text. */

import { createHash, createHmac } from "node:crypto";
import { templateWidthMax } from "../../../limits.ts";
import { formatPercent } from "../../../python/format/percent.ts";
import { fixedText } from "../../../python/format/spec.ts";
import { strOf } from "../../../python/repr.ts";
import { characters, textLength } from "../../../python/text.ts";
import { demand, type Item, isTrue, iterate, Tuple } from "../../../python/values.ts";
import { capitalized, replaceText, splitLines, stripBoth } from "../python/methods-text.ts";
import { typeFault } from "../values/objects.ts";
import { pythonText } from "../values/text.ts";
import { type FilterTable, filter, freeFilter } from "./host.ts";

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll(">", "&gt;")
    .replaceAll("<", "&lt;")
    .replaceAll("'", "&#39;")
    .replaceAll('"', "&#34;");
}

/** As in Jinja, a word starts after a blank, a hyphen or an opening bracket. */
function titledWords(text: string): string {
  return text
    .split(/([-\s({[<]+)/)
    .filter((part) => part !== "")
    .map(capitalized)
    .join("");
}

function indented(text: string, width: Item, isFirst: boolean, isBlank: boolean): string {
  const indention = typeof width === "string" ? width : " ".repeat(Math.min(Number(width), 10_000));
  const ended = `${text}\n`;
  const lines = splitLines(ended, false);
  const body = isBlank
    ? lines.join(`\n${indention}`)
    : lines.map((line, index) => (index === 0 || line === "" ? line : indention + line)).join("\n");
  return isFirst ? indention + body : body;
}

function truncated(text: string, length: number, killsWords: boolean, end: string, leeway: number): string {
  const all = characters(text);
  if (all.length <= length + leeway) return text;
  if (textLength(end) > length) throw typeFault(`expected length >= ${textLength(end)}, got ${length}`);
  const cut = all.slice(0, length - textLength(end)).join("");
  if (killsWords) return cut + end;
  const lastBlank = cut.lastIndexOf(" ");
  return (lastBlank < 0 ? cut : cut.slice(0, lastBlank)) + end;
}

function shellQuoted(text: string): string {
  if (text === "") return "''";
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

function snakeCased(text: string): string {
  const isUpper = (letter: string | undefined) => letter !== undefined && /^\p{Lu}$/u.test(letter);
  const isLower = (letter: string | undefined) => letter !== undefined && /^\p{Ll}$/u.test(letter);
  const all = characters(text);
  if (all.length === 0) throw typeFault("string index out of range");
  return all
    .map((letter, index) => {
      const startsWord = index > 0 && isUpper(letter) && (isLower(all[index - 1]) || isLower(all[index + 1]));
      return (startsWord ? "_" : "") + letter.toLowerCase();
    })
    .join("");
}

function camelCased(text: string, isUpper: boolean): string {
  const [first = "", ...rest] = text.split("_");
  return (isUpper ? capitalized(first) : first) + rest.map(capitalized).join("");
}

function centred(text: string, width: number): string {
  const missing = width - textLength(text);
  if (missing <= 0 || width > templateWidthMax) return text;
  const left = (missing >> 1) + (missing & width & 1);
  return " ".repeat(left) + text + " ".repeat(missing - left);
}

function urlEncoded(input: Item): string {
  const encode = (text: string, isPath: boolean) => {
    const all = encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    return isPath ? all.replaceAll("%2F", "/") : all;
  };
  if (typeof input === "string") return encode(input, true);
  const pairs: readonly (readonly Item[])[] =
    input instanceof Map ? [...input] : iterate(input).map((pair) => iterate(pair));
  return pairs
    .map((pair) => pair.map((part) => encode(strOf(part ?? null), false).replaceAll("%20", "+")).join("="))
    .join("&");
}

function fileSize(bytes: number, isBinary: boolean): string {
  const base = isBinary ? 1_024 : 1_000;
  const prefixes = isBinary
    ? ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    : ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const power = prefixes.findIndex((_, index) => bytes < base ** (index + 2));
  const index = power < 0 ? prefixes.length - 1 : power;
  return `${fixedText(bytes / base ** (index + 1), 1)} ${prefixes[index]}`;
}

const digest = (algorithm: string) =>
  filter("", (input) => createHash(algorithm).update(pythonText(input, algorithm)).digest("hex"));

const saltNamespace = Buffer.from("91633EBF1C865E33935A28061F4B480E", "hex");

/** A UUID of version 5: the name's SHA-1 in Salt's namespace. */
function uuidOf(name: string): string {
  const hash = createHash("sha1").update(saltNamespace).update(name).digest().subarray(0, 16);
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

const units = "bkmgtpezy";

function humanBytes(size: string, defaultUnit: string, isMetric: boolean): Item {
  const [, digits = "", unitText = ""] = /^([0-9.]*)\s*(.*)$/.exec(size.trim()) ?? [];
  const unit = unitText.toLowerCase() || defaultUnit.toLowerCase();
  const value = digits === "" ? Number.NaN : Number(digits);
  if (Number.isNaN(value)) return 0;
  const isDecimal = /^[kmgtpezy]b$/.test(unit);
  if (!isDecimal && !/^(?:b|[kmgtpezy](?:ib)?)$/.test(unit)) return 0;
  const power = units.indexOf(unit.charAt(0));
  const bytes = value * (isDecimal && isMetric ? 10 ** (power * 3) : 2 ** (power * 10));
  const whole = Math.trunc(bytes);
  return Number.isSafeInteger(whole) ? whole : BigInt(whole);
}

function joinedPath(first: Item, rest: readonly Item[]): string {
  const normal = (path: string) => {
    const isAbsolute = path.startsWith("/");
    const parts: string[] = [];
    for (const part of path.split("/")) {
      if (part === "" || part === ".") continue;
      if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
      else if (part !== ".." || !isAbsolute) parts.push(part);
    }
    const lead = isAbsolute ? (/^\/\/(?!\/)/.test(path) ? "//" : "/") : "";
    return lead + parts.join("/") || ".";
  };
  const [root = "", ...more] = [first, ...rest].map((part) => normal(pythonText(part, "path_join")));
  return normal([root, ...more.map((part) => part.replace(/^\/+/, ""))].join("/"));
}

function splitWords(text: string, width: number): string {
  if (text.includes("\t") || width < 1) throw typeFault("wordwrap of this text is not supported");
  return splitLines(text, false)
    .map((line) => {
      const rows: string[] = [""];
      for (const word of line.match(/\S+\s*/g) ?? []) {
        const row = rows.at(-1) ?? "";
        if (textLength(row + word.trimEnd()) <= width) rows[rows.length - 1] = row + word;
        else rows.push(word);
        if (textLength(word.trimEnd()) > width) throw typeFault("wordwrap of words wider than a line is not supported");
      }
      return rows.map((row) => row.trimEnd()).join("\n");
    })
    .join("\n");
}

export const textFilters: FilterTable = {
  base64_decode: filter("", (input) => Buffer.from(pythonText(input, "base64_decode"), "base64").toString("utf8")),
  base64_encode: filter("", (input) => Buffer.from(pythonText(input, "base64_encode")).toString("base64")),
  capitalize: filter("", (input) => capitalized(strOf(input))),
  center: filter("width?", (input, args) => centred(strOf(input), args.integer("width", 80))),
  contains_whitespace: filter("", (input) => iterate(input).some((letter) => /^\s$/.test(strOf(letter)))),
  escape: filter("", (input) => escaped(strOf(input))),
  filesizeformat: filter("binary?", (input, args) => fileSize(Number(strOf(input)), args.flag("binary", false))),
  format: freeFilter((input, args) => {
    if (args.named.size > 0 && args.positional.length > 0)
      throw typeFault("can't handle positional and keyword arguments at the same time");
    const values = args.named.size > 0 ? new Map<Item, Item>(args.named) : new Tuple(args.positional);
    return formatPercent(strOf(input), values);
  }),
  forceescape: filter("", (input) => escaped(strOf(input))),
  hmac: filter(
    "shared_secret challenge_hmac",
    (input, args) =>
      createHmac("sha256", args.text("shared_secret")).update(strOf(input)).digest("base64") ===
      args.text("challenge_hmac"),
  ),
  hmac_compute: filter("shared_secret", (input, args) =>
    createHmac("sha256", args.text("shared_secret")).update(strOf(input)).digest("hex"),
  ),
  human_to_bytes: filter("default_unit? handle_metric?", (input, args) =>
    humanBytes(strOf(input), args.text("default_unit", "B"), args.flag("handle_metric", false)),
  ),
  indent: filter("width? first? blank?", (input, args) =>
    indented(
      strOf(input),
      args.get("width") ?? 4,
      isTrue(args.get("first") ?? false),
      isTrue(args.get("blank") ?? false),
    ),
  ),
  lower: filter("", (input) => strOf(input).toLowerCase()),
  md5: digest("md5"),
  path_join: freeFilter((input, args) => joinedPath(input, args.positional)),
  quote: filter("", (input) => shellQuoted(pythonText(input, "quote"))),
  regex_escape: filter("", (input) =>
    strOf(input).replaceAll(/[\t\n\v\f\r !"#$%&'()*+,\-./:;<=>?@[\\\]^`{|}~]/g, escapedForPattern),
  ),
  replace: filter("old new count?", (input, args) => {
    const count = args.get("count") ?? null;
    return replaceText(
      strOf(input),
      strOf(args.need("old")),
      strOf(args.need("new")),
      count === null ? -1 : args.integer("count", -1),
    );
  }),
  safe: filter("", (input) => strOf(input)),
  sha1: digest("sha1"),
  sha256: digest("sha256"),
  sha512: digest("sha512"),
  skip: filter("", () => ""),
  string: filter("", (input) => strOf(input)),
  substring_in_list: filter("list_to_search", (input, args) =>
    iterate(args.need("list_to_search")).some((item) => strOf(item).includes(strOf(input))),
  ),
  title: filter("", (input) => titledWords(strOf(input))),
  to_camelcase: filter("uppercamel?", (input, args) => camelCased(strOf(input), args.flag("uppercamel", false))),
  to_snake_case: filter("", (input) => snakeCased(strOf(input))),
  trim: filter("chars?", (input, args) => stripBoth(strOf(input), args.optionalText("chars"))),
  truncate: filter("length? killwords? end? leeway?", (input, args) => {
    const leeway = args.get("leeway") ?? null;
    return truncated(
      strOf(input),
      args.integer("length", 255),
      args.flag("killwords", false),
      args.text("end", "..."),
      leeway === null ? 5 : args.integer("leeway", 5),
    );
  }),
  upper: filter("", (input) => strOf(input).toUpperCase()),
  urlencode: filter("", (input) => urlEncoded(demand(input))),
  uuid: filter("", (input) => uuidOf(strOf(input))),
  wordcount: filter("", (input) => strOf(input).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0),
  wordwrap: filter("width?", (input, args) => splitWords(strOf(input), args.integer("width", 79))),
};

/** As Python's `re.escape`: escapes only characters with a meaning in patterns. */
function escapedForPattern(letter: string): string {
  return /[!"%',/:;<=>@`]/.test(letter) ? letter : `\\${letter}`;
}
