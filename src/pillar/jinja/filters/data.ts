/** Filters of Jinja and Salt for YAML, JSON, regular expressions, addresses and paths of keys. */

import { isIP } from "node:net";
import { SaltworksError } from "../../../errors.ts";
import { dumpJson } from "../../../python/json.ts";
import type { PythonSearch } from "../../../python/regex/search.ts";
import { doubleQuoted, reprFloat, strOf } from "../../../python/repr.ts";
import {
  type Dict,
  demand,
  getKey,
  type Item,
  isFloat,
  isNumber,
  isTrue,
  itemOr,
  iterate,
  setKey,
  Tuple,
  typeName,
} from "../../../python/values.ts";
import { yamlText } from "../../../python/yaml-writer.ts";
import { integerFrom } from "../python/methods-collections.ts";
import type { Bound } from "../values/arguments.ts";
import { readJson } from "../values/json.ts";
import { fault, typeFault, Undefined } from "../values/objects.ts";
import { withSearch } from "../values/search.ts";
import { type FilterTable, filter } from "./host.ts";

type Found = readonly (string | undefined)[] | undefined;

function searching<Result>(args: Bound, use: (search: PythonSearch) => Result): Result {
  const ignoresCase = isTrue(args.get("ignorecase") ?? false);
  const isMultiline = isTrue(args.get("multiline") ?? false);
  return withSearch(args.text("rgx"), { ignoresCase, isMultiline }, use);
}

/** The groups of a match, or the whole match if the pattern has none. */
function groupsOf(found: Found): Item {
  if (found === undefined) return null;
  const [whole, ...groups] = found;
  return new Tuple(groups.length === 0 ? [whole ?? ""] : groups.map((group) => group ?? null));
}

const regexSignature = "rgx ignorecase? multiline?";

/** Follows `a:b:0` through maps and lists, as Salt does. */
export function traverse(data: Item, key: Item, fallback: Item, delimiter: string): Item {
  const parts: readonly Item[] = typeof key === "string" ? key.split(delimiter) : isNumber(key) ? [key] : iterate(key);
  let at = data;
  for (const part of parts) {
    const next = Array.isArray(at) ? fromList(at, part) : at instanceof Map ? fromMap(at, part) : undefined;
    if (next === undefined) return fallback;
    at = next;
  }
  return at;
}

/** Tries the key as text, then as the number, bool or null that it spells. */
function fromMap(map: Dict, part: Item): Item | undefined {
  const direct = getKey(map, part);
  if (direct !== undefined || typeof part !== "string") return direct;
  if (/^-?(?:0|[1-9]\d*)$/.test(part)) return getKey(map, Number(part));
  if (/^(?:true|false)$/i.test(part)) return getKey(map, part.toLowerCase() === "true");
  return part === "null" || part === "None" ? getKey(map, null) : undefined;
}

function fromList(list: readonly Item[], part: Item): Item | undefined {
  const index = integerFrom(part);
  const key = index ?? part;
  for (const item of list) {
    const found = item instanceof Map ? getKey(item, key) : undefined;
    if (found !== undefined) return found;
  }
  if (index === undefined) return undefined;
  const place = Number(index);
  return list[place < 0 ? list.length + place : place];
}

/** YAML as `safe_dump` writes it, without the end that both filters remove. */
function dumpYaml(item: Item, isFlow: boolean): string {
  return yamlText(item, isFlow ? -1 : undefined);
}

function yamlEncoded(input: Item): string {
  demand(input);
  if (typeof input === "string") return doubleQuoted(input);
  if (input === null) return "null";
  if (isNumber(input) && !isFloat(input)) return strOf(input).toLowerCase();
  if (isFloat(input)) return reprFloat(Number(strOf(input)));
  throw typeFault(`yaml_encode() only works with YAML scalar data; failed for <class '${typeName(input)}'>`);
}

const isAddress = (versions: readonly number[]) =>
  filter("options?", (input, args) => {
    if ((args.get("options") ?? null) !== null) throw typeFault("options of address filters are not supported");
    return typeof input === "string" && versions.includes(isIP(input));
  });

/** Passes an undefined input through, so that the error has the input's own message. */
function passing(run: (input: Item, args: Bound) => Item): (input: Item, args: Bound) => Item {
  return (input, args) => (input instanceof Undefined ? input : run(input, args));
}

function plainItem(item: Item): Item {
  // Text blocks are the input of `load_yaml`, `load_json` and `load_text`.
  return typeof item === "string" ? item : strOf(item);
}

function keyParts(args: Bound): { readonly parts: string[]; readonly last: string } {
  const parts = args.text("keys").split(args.text("delimiter", ":"));
  const last = parts.pop() ?? "";
  return { parts, last };
}

function innerMap(map: Item, parts: readonly string[]): Dict {
  let at = map;
  for (const part of parts) {
    if (!(at instanceof Map)) throw typeFault(`'${typeName(at)}' object does not support item assignment`);
    if (getKey(at, part) === undefined) setKey(at, part, new Map());
    at = getKey(at, part) ?? null;
  }
  if (at instanceof Map) return at;
  throw typeFault(`'${typeName(at)}' object does not support item assignment`);
}

/** A filter that changes one value inside a map and returns the map. */
const changing = (change: (map: Dict, key: string, value: Item) => void) =>
  filter("keys value delimiter?", (input, args) => {
    const { parts, last } = keyParts(args);
    change(innerMap(input, parts), last, args.need("value"));
    return input;
  });

export const dataFilters: FilterTable = {
  append_dict_key_value: changing((map, key, value) => {
    const list = getKey(map, key);
    if (list === undefined) setKey(map, key, [value]);
    else if (Array.isArray(list)) list.push(value);
    else throw typeFault(`'${typeName(list)}' object has no attribute 'append'`);
  }),
  dict_to_sls_yaml_params: filter(
    "flow_style?",
    passing((input, args) => {
      if (!(input instanceof Map)) throw typeFault(`'${typeName(input)}' object has no attribute 'items'`);
      return dumpYaml(
        Array.from(input, (pair): Item => new Map([pair])),
        args.flag("flow_style", false),
      );
    }),
  ),
  default: filter("default_value? boolean?", (input, args) => {
    const isWanted = input instanceof Undefined || (isTrue(args.get("boolean") ?? false) && !isTrue(input));
    return isWanted ? itemOr(args.get("default_value"), () => "") : input;
  }),
  extend_dict_key_value: changing((map, key, value) => {
    const list = getKey(map, key);
    if (list === undefined) setKey(map, key, [...iterate(value)]);
    else if (Array.isArray(list)) list.push(...iterate(value));
    else throw typeFault(`'${typeName(list)}' object has no attribute 'extend'`);
  }),
  is_hex: filter("", (input) => typeof input === "string" && integerFrom(input, 16) !== undefined),
  is_ip: isAddress([4, 6]),
  is_ipv4: isAddress([4]),
  is_ipv6: isAddress([6]),
  json: filter(
    "sort_keys? indent?",
    passing((input, args) =>
      dumpJson(input, {
        sortsKeys: isTrue(args.get("sort_keys") ?? true),
        isAscii: false,
        indent: (args.get("indent") ?? null) === null ? undefined : args.integer("indent", 0),
      }),
    ),
  ),
  load_json: filter(
    "",
    passing((input) => readJson(strOf(plainItem(input)))),
  ),
  load_text: filter("", passing(plainItem)),
  load_yaml: filter("", (input, _args, host) => {
    if (input instanceof Undefined) return input;
    try {
      return host.loadYaml(strOf(plainItem(input)));
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      throw fault("template", `Encountered error loading yaml: ${error.message}`);
    }
  }),
  regex_match: filter(regexSignature, (input, args) =>
    groupsOf(searching(args, (search) => search.findAtStart(strOf(input)))),
  ),
  regex_replace: filter("rgx val ignorecase? multiline?", (input, args) =>
    searching(args, (search) => search.replace(strOf(input), args.text("val")).text),
  ),
  regex_search: filter(regexSignature, (input, args) =>
    groupsOf(searching(args, (search) => search.find(strOf(input)))),
  ),
  set_dict_key_value: changing(setKey),
  tojson: filter(
    "indent? sort_keys? ensure_ascii?",
    passing((input, args) =>
      dumpJson(input, {
        sortsKeys: isTrue(args.get("sort_keys") ?? false),
        isAscii: isTrue(args.get("ensure_ascii") ?? true),
        indent: (args.get("indent") ?? null) === null ? undefined : args.integer("indent", 0),
      })
        .replaceAll("<", "\\u003c")
        .replaceAll(">", "\\u003e")
        .replaceAll("&", "\\u0026")
        .replaceAll("'", "\\u0027"),
    ),
  ),
  traverse: filter("key default? delimiter?", (input, args) =>
    traverse(demand(input), args.need("key"), args.get("default") ?? null, args.text("delimiter", ":")),
  ),
  update_dict_key_value: changing((map, key, value) => {
    const inner = getKey(map, key);
    if (inner === undefined) setKey(map, key, new Map(value as Dict));
    else if (!(inner instanceof Map) || !(value instanceof Map)) throw typeFault("update wants maps");
    else for (const [name, member] of value) setKey(inner, name, member);
  }),
  yaml: filter(
    "flow_style?",
    passing((input, args) => dumpYaml(input, isTrue(args.get("flow_style") ?? true))),
  ),
  yaml_dquote: filter("", (input) => doubleQuoted(strOf(input))),
  yaml_encode: filter("", yamlEncoded),
  yaml_squote: filter("", (input) => {
    const text = strOf(input);
    if (/\n/.test(text)) throw typeFault("yaml_squote of a text with line breaks is not supported");
    return `'${text.replaceAll("'", "''")}'`;
  }),
};
