/**
 * Makes maps of the rows of SQL queries: the first columns are keys, the last the value. Source: Salt 3007's `pillar/sql_base.py`, observed.
 */
import { isTrue, iterate, typeName } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { merged } from "../../input/merge.ts";
import { sourceFault } from "../../input/source-fault.ts";
import { readJson } from "../../jinja/values/json.ts";
import { dataOf } from "../../jinja/values/objects.ts";

/** `root`: the key of the query's values; undefined for a query without a name, whose values lie at the top. */
export type SqlQuery = {
  readonly root: string | undefined;
  readonly query: string;
  readonly depth: number;
  readonly asList: boolean;
  readonly asJson: boolean;
  readonly withLists: readonly number[];
  readonly ignoreNull: boolean;
};
export type SqlResult = { readonly fields: readonly string[]; readonly rows: readonly (readonly Value[])[] };

/** The queries of a source's arguments. Named ones follow in the order of their names. Arguments without a query are left out. */
export function sqlQueries(positional: readonly Value[], named: ReadonlyMap<string, Value>): readonly SqlQuery[] {
  const sorted = [...named].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const all = [...positional.map((value) => [undefined, value] as const), ...sorted];
  return all.flatMap(([root, written]) => {
    const given = optionsOf(written);
    const query = given.get("query");
    if (typeof query !== "string" || query === "") return [];
    return [
      {
        root: root === "" ? undefined : root,
        query,
        depth: Number(given.get("depth") ?? 0),
        asList: isTrue(given.get("as_list") ?? false),
        asJson: isTrue(given.get("as_json") ?? false),
        withLists: numbersOf(given.get("with_lists") ?? null),
        ignoreNull: isTrue(given.get("ignore_null") ?? false),
      },
    ];
  });
}

function optionsOf(written: Value): ReadonlyMap<Value, Value> {
  if (written instanceof Map) return written;
  if (!Array.isArray(written)) return new Map([["query", written]]);
  return new Map<Value, Value>([
    ["query", written[0] ?? null],
    ["depth", written[1] ?? 0],
  ]);
}

function numbersOf(written: Value): readonly number[] {
  if (typeof written === "string") return written.split(",").filter(Boolean).map(Number);
  return isTrue(written) ? iterate(written).map(Number) : [];
}

/** The values of all queries. `results`: one for each query. */
export function sqlValues(queries: readonly SqlQuery[], results: readonly SqlResult[]): ValueMap {
  const values: ValueMap = new Map();
  for (const [index, query] of queries.entries()) {
    const result = results[index];
    if (result === undefined) continue;
    let focus = values;
    if (query.root !== undefined) {
      focus = new Map();
      values.set(query.root, focus);
    }
    new RowFold(query, result.fields, focus).run(result.rows);
  }
  return values;
}

/** Puts the rows of one query into a map. */
class RowFold {
  readonly #query: SqlQuery;
  readonly #fields: readonly string[];
  readonly #focus: ValueMap;
  readonly #depth: number;
  /** Keys whose maps become lists at the end, by the map that holds them. */
  readonly #listKeys = new Map<ValueMap, Set<Value>>();

  constructor(query: SqlQuery, fields: readonly string[], focus: ValueMap) {
    this.#query = query;
    this.#fields = fields;
    this.#focus = focus;
    const { depth } = query;
    this.#depth = depth === 0 || depth >= fields.length ? fields.length - 1 : depth;
  }

  run(rows: readonly (readonly Value[])[]): void {
    for (const row of rows) {
      if (this.#query.asJson && this.#fields.length === 1) this.#addDocument(row[0] ?? null);
      else this.#addRow(row);
    }
    for (const [map, keys] of [...this.#listKeys].toReversed()) {
      for (const key of keys) {
        const value = map.get(key) ?? null;
        if (value instanceof Map) map.set(key, [...value.values()]);
        else if (Array.isArray(value)) map.set(key, [value]);
      }
    }
  }

  #addDocument(cell: Value): void {
    const text = cell instanceof Uint8Array ? Buffer.from(cell).toString("utf8") : cell;
    const row = typeof text === "string" ? dataOf(readJson(text)) : text;
    if (!(row instanceof Map)) throw sourceFault(`as_json rows must decode to a dict, got ${typeName(row)}`);
    for (const [key, value] of merged(this.#focus, row, this.#query.asList)) this.#focus.set(key, value);
  }

  #addRow(row: readonly Value[]): void {
    let map = this.#focus;
    for (let column = 0; column < this.#depth - 1; column += 1) {
      const key = row[column] ?? null;
      this.#noteList(map, key, column + 1);
      map = this.#descend(map, key);
    }
    if (this.#depth === this.#fields.length - 1) this.#addValue(map, row);
    else this.#addMembers(map, row);
  }

  #noteList(map: ValueMap, key: Value, place: number): void {
    if (!this.#query.withLists.includes(place)) return;
    const keys = this.#listKeys.get(map) ?? new Set();
    keys.add(key);
    this.#listKeys.set(map, keys);
  }

  #descend(map: ValueMap, key: Value): ValueMap {
    const present = map.get(key);
    if (present instanceof Map) return present;
    const inner: ValueMap = new Map();
    if (Array.isArray(present)) present.push(inner);
    else if (present !== undefined && this.#query.asList) map.set(key, [present, inner]);
    else map.set(key, inner);
    return inner;
  }

  /** The column before the last is the key. Of a single column, the key is the value itself. */
  #addValue(map: ValueMap, row: readonly Value[]): void {
    const keyColumn = this.#fields.length - 2;
    const key = row.at(keyColumn) ?? null;
    const value = row.at(-1) ?? null;
    const { asList, ignoreNull, withLists } = this.#query;
    if ((asList && map.has(key)) || withLists.includes(keyColumn + 1)) {
      const present = map.get(key);
      const list = Array.isArray(present) ? present : map.has(key) ? [present ?? null] : [];
      list.push(value);
      map.set(key, list);
    } else if (!ignoreNull || value !== null) map.set(key, value);
  }

  /** The remaining columns become members by their names. */
  #addMembers(map: ValueMap, row: readonly Value[]): void {
    const key = row.at(this.#depth - 1) ?? null;
    if (!map.has(key)) map.set(key, new Map());
    this.#noteList(map, key, this.#depth);
    const inner = map.get(key);
    if (!(inner instanceof Map)) throw sourceFault(`a row adds members to a ${typeName(inner ?? null)}`);
    const { asList, ignoreNull } = this.#query;
    for (const [index, name] of this.#fields.entries()) {
      if (index < this.#depth) continue;
      const value = row[index] ?? null;
      this.#noteList(inner, name, index + 1);
      const present = inner.get(name);
      if (asList && present !== undefined) {
        if (Array.isArray(present)) present.push(value);
        else inner.set(name, [present, value]);
      } else if (!ignoreNull || value !== null) inner.set(name, value);
    }
  }
}
