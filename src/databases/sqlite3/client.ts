/** Node's own `node:sqlite`, as far as it is used here. Node 20 does not have it, so it is loaded when a file is first opened. */
import { createRequire } from "node:module";

export const packageName = "node:sqlite";

export type SqliteValue = string | number | null;
export type SqliteRow = Readonly<Record<string, string | number | bigint | Uint8Array | null>>;
export type SqliteStatement = {
  run(...values: readonly SqliteValue[]): { readonly changes: number | bigint };
  all(...values: readonly SqliteValue[]): SqliteRow[];
};
export type SqliteClient = {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
};
type SqlitePackage = { readonly DatabaseSync: new (path: string) => SqliteClient };

/** @throws Error with the code MODULE_NOT_FOUND where Node.js does not have it */
export function openSqlite(path: string): SqliteClient {
  const require = createRequire(import.meta.url);
  const { DatabaseSync } = require(packageName) as SqlitePackage;
  return new DatabaseSync(path);
}
