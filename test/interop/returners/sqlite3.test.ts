/** Our returner `sqlite3` beside Salt's, on the same file: the rows must be equal. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadLibrary } from "../../../src/minion/returners/contract/library.ts";
import { mustPass, passTo } from "../../minion/returners/passing.ts";
import { openSaltsReturners } from "./salts-returner.ts";
import { plain, samples } from "./samples.ts";

type Sqlite = {
  readonly DatabaseSync: new (
    path: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): { all(): { readonly [column: string]: unknown }[] };
    close(): void;
  };
};

const salts = await openSaltsReturners();

describe("returner sqlite3", { timeout: 60_000 }, () => {
  // Declared, not skipped: no version of Node.js can run both.
  if (isBuiltin("node:sqlite")) it("writes the rows of Salt's", { skip: salts.skip }, writesSaltsRows);
  else it("is refused by name where Node.js has no SQLite", isRefused);
});

async function isRefused(): Promise<void> {
  const { failures } = await passTo(["sqlite3"], { sqlite3: { database: "/nonexistent", timeout: 5 } });
  assert.match(failures.get("sqlite3") ?? "", /^the returner sqlite3 needs node:sqlite, which Node.js 20/);
}

async function writesSaltsRows(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sw-sqlite-"));
  try {
    const { DatabaseSync } = await loadLibrary<Sqlite>({ specifier: "node:sqlite", install: "" });
    const database = new DatabaseSync(join(directory, "salt.db"));
    database.exec(
      "CREATE TABLE salt_returns (fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT, date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL)",
    );
    const take = () => {
      const rows = database.prepare("SELECT * FROM salt_returns ORDER BY jid").all();
      database.exec("DELETE FROM salt_returns");
      return rows.map(({ date, ...row }) => ({ ...row, date: String(date).replaceAll(/\d/g, "0") }));
    };
    const options = { "sqlite3.database": join(directory, "salt.db"), "sqlite3.timeout": 5 };
    await salts.pass("sqlite3", options, samples.map(plain));
    const theirs = take();
    for (const ret of samples) await mustPass(["sqlite3"], options, ret);
    assert.equal(theirs.length, samples.length);
    assert.deepEqual(take(), theirs);
    database.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
