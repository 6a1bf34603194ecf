/** Process that asks one file of SQLite. Reads the request as JSON from standard input, and writes the packed rows as base64. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Value } from "../../../wire/values.ts";
import { Float } from "../../../wire/values.ts";
import type { SqlResult } from "./rows.ts";
import { packedResults } from "./source.ts";

type Row = Readonly<Record<string, unknown>>;
type Statement = {
  all(...values: readonly string[]): Row[];
  setReadBigInts(isOn: boolean): void;
  columns?(): readonly { readonly name: string }[];
};
type Database = { prepare(sql: string): Statement; exec(sql: string): void };
type SqlitePackage = {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => Database;
};

function cellOf(cell: unknown): Value {
  if (typeof cell === "bigint") return Number.isSafeInteger(Number(cell)) ? Number(cell) : cell;
  if (typeof cell === "number" && Number.isInteger(cell)) return new Float(cell);
  return (cell ?? null) as Value;
}

function resultOf(database: Database, sql: string, id: string): SqlResult {
  const statement = database.prepare(sql);
  // Without this, a whole REAL could not be told from an INTEGER.
  statement.setReadBigInts(true);
  const rows = statement.all(id);
  const fields = statement.columns?.().map(({ name }) => name) ?? Object.keys(rows[0] ?? {});
  if (new Set(fields).size < fields.length) throw new Error("two columns have the same name");
  return { fields, rows: rows.map((row) => fields.map((name) => cellOf(row[name]))) };
}

function answer(): string {
  const asked = JSON.parse(readFileSync(0, "utf8")) as {
    readonly path: string;
    readonly busyMs: number;
    readonly id: string;
    readonly queries: readonly string[];
  };
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as SqlitePackage;
  const database = new DatabaseSync(asked.path, { readOnly: true });
  database.exec(`PRAGMA busy_timeout = ${Math.round(asked.busyMs)}`);
  return Buffer.from(packedResults(asked.queries.map((query) => resultOf(database, query, asked.id)))).toString(
    "base64",
  );
}

try {
  process.stdout.write(answer());
} catch (error) {
  // SQLite's message names tables and columns, and no values.
  process.stderr.write((error as Error).message);
  process.exitCode = 1;
}
