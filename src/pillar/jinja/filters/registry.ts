/** All filters of Jinja 3.1 and Salt 3007 by name, including unsupported ones. docs/pillar.md lists them. */

import type { Item } from "../../../python/values.ts";
import { bind } from "../values/arguments.ts";
import { type CallArguments, fault, Undefined } from "../values/objects.ts";
import { dataFilters } from "./data.ts";
import type { Filter, FilterHost } from "./host.ts";
import { listFilters } from "./lists.ts";
import { textFilters } from "./text.ts";

const aliases: Readonly<Record<string, string>> = {
  d: "default",
  e: "escape",
  length: "count",
  str_to_num: "to_num",
};

/** Salt's filters that do not exist here. Using one is an error. */
export const refusedFilters: readonly string[] = (
  "check_whitelist_blacklist combinations combinations_with_replacement compress date_format dns_check file_hashsum " +
  "filter_by_networks from_entries gen_mac get_uid http_query ip_host ipaddr ipv4 ipv6 ipwrap is_bin_file is_empty is_text_file " +
  "json_decode_dict json_decode_list json_encode_dict json_encode_list json_query list_files mac_str_to_bytes method_call " +
  "mysql_to_dict network_hosts network_size permutations pprint product python rand_str random random_hash random_sample " +
  "random_shuffle random_str strftime striptags to_bytes urlize which xml xmlattr zip zip_longest"
).split(" ");

const tables: readonly (readonly [string, Filter][])[] = [textFilters, listFilters, dataFilters].map((table) =>
  Object.entries(table),
);
const filters: ReadonlyMap<string, Filter> = new Map(tables.flat());
/** Filters that accept an undefined input. */
const takesUndefined = new Set([
  "default",
  "dict_to_sls_yaml_params",
  "items",
  "json",
  "load_json",
  "load_text",
  "load_yaml",
  "tojson",
  "yaml",
]);

/** Sorted names of supported filters. */
export function filterNames(): string[] {
  return [...filters.keys(), ...Object.keys(aliases)].sort();
}

/** @throws PILLAR_FAILED for an unknown filter, and any error of the filter */
export function applyFilter(host: FilterHost, name: string, input: Item, args: CallArguments): Item {
  const canonical = Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name;
  const found = filters.get(canonical);
  if (found === undefined) {
    if (refusedFilters.includes(name)) throw fault("template", `the filter '${name}' is not supported`);
    throw fault("template", `No filter named '${name}'.`);
  }
  if (input instanceof Undefined && !takesUndefined.has(canonical)) throw fault("undefined", input.message);
  if (found.signature === undefined) return found.runFree(input, args, host);
  return found.run(input, bind(name, found.signature, args), host);
}
