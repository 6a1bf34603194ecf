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

/** The returns that are not `present` yet, each once. Compared here, because a table's collation may take two ids for one. */
export function absentOf(
  returns: readonly ReturnRow[],
  present: readonly { readonly jid: string; readonly minionId: string }[],
): readonly ReturnRow[] {
  const known = new Set(present.map(keyOf));
  return returns.filter((row) => {
    const key = keyOf(row);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
}

function keyOf({ jid, minionId }: { readonly jid: string; readonly minionId: string }): string {
  return `${jid}\0${minionId}`;
}
