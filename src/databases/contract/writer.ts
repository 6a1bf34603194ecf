/** The one connection of a master that writes, and the rows that it has to write. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { DatabaseConfig } from "./database.ts";
import type { ReturnRow } from "./rows.ts";

/** Another master, or a copy on another machine, has another name. `role`: what the connection writes, if not jobs. */
export function writerName({ id, cachedir }: DatabaseConfig, role?: "events"): string {
  const facts = [id, hostname(), cachedir, ...(role === undefined ? [] : [role])];
  return `saltworks.${createHash("sha256").update(facts.join("\0")).digest("hex").slice(0, 32)}`;
}

/** A row of a return that the table has. `head`: how its `full_ret` begins, where that counts. */
export type PresentRow = { readonly jid: string; readonly minionId: string; readonly head?: string };

/**
 * Characters of `full_ret` that tell a master's row, which begins with `cmd`, from one that the minion wrote itself. No more are compared, because a table
 * may hold later ones in another form than they were sent.
 */
export const headLength = '{"cmd": '.length;

export function headOf({ whole }: ReturnRow): string {
  return whole.slice(0, headLength);
}

/** The row of an answer with the columns `jid`, `id` and, where it counts, `head`. */
export function presentRow({ jid, id, head }: Readonly<Record<string, unknown>>): PresentRow {
  return { jid: String(jid), minionId: String(id), head: String(head ?? "") };
}

/**
 * The returns that are not `present` yet, each once. Compared here, because a table's collation may take two ids for one. `head`: of a row that is to be
 * written, where the heads of `present` count.
 */
export function absentOf(
  returns: readonly ReturnRow[],
  present: readonly PresentRow[],
  head: (row: ReturnRow) => string = () => "",
): readonly ReturnRow[] {
  const known = new Set(present.map(keyOf));
  return returns.filter((row) => {
    const key = keyOf({ jid: row.jid, minionId: row.minionId, head: head(row) });
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
}

function keyOf({ jid, minionId, head = "" }: PresentRow): string {
  return `${jid}\0${minionId}\0${head}`;
}
