/**
 * Source `csv` (Salt's module `csvpillar`): the row of a CSV file whose column `idkey` has the minion's id. Source: Salt 3007, observed.
 */
import { readFileSync, statSync } from "node:fs";
import { SaltworksError } from "../../errors.ts";
import { extPillarBytesMax } from "../../limits.ts";
import { csvRows } from "../../python/csv.ts";
import { reprOf, strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource, SourceArguments } from "./contract.ts";

/** As Python's `csv.DictReader`: further fields as a list under `restkey`, missing ones have `restval`. */
function rowMap(names: readonly Value[], fields: readonly string[], args: SourceArguments): ValueMap {
  const row: ValueMap = new Map();
  for (const [index, name] of names.entries()) {
    const field = fields[index];
    row.set(name, field === undefined ? (args.get("restval") ?? null) : field);
  }
  if (fields.length > names.length) row.set(args.get("restkey") ?? null, fields.slice(names.length));
  return row;
}

function rowOf(text: string, id: string, args: SourceArguments): ValueMap | undefined {
  const idkey = args.get("idkey") ?? "id";
  const given = args.get("fieldnames") ?? null;
  let names: readonly Value[] | undefined = Array.isArray(given) ? given : undefined;
  for (const fields of csvRows(text, strOf(args.get("dialect") ?? "excel"))) {
    if (names === undefined) {
      names = fields;
      continue;
    }
    if (fields.length === 0) continue;
    const row = rowMap(names, fields, args);
    const own = row.get(idkey);
    if (own === undefined) throw sourceFault(reprOf(idkey));
    if (own === id) return row;
  }
  return undefined;
}

/** @throws SaltworksError PILLAR_FAILED if the file is missing, too large or not readable */
function textOf(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > extPillarBytesMax) throw sourceFault(`${path} has ${size} bytes (most: ${extPillarBytesMax})`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    throw sourceFault(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

export const csv: ExternalSource = {
  parameters: ["path", "idkey", "namespace", "fieldnames", "restkey", "restval", "dialect"],
  requiredCount: 1,
  // A minion that may ask for this source could choose the file.
  isForMinions: false,
  read: ({ minion }, args) => {
    const path = strOf(args.get("path") ?? null);
    const row = rowOf(textOf(path), minion.id, args);
    if (row === undefined) return new Map();
    const namespace = args.get("namespace") ?? null;
    return isTrue(namespace) ? new Map([[namespace, row]]) : row;
  },
};
