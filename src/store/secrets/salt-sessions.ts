/**
 * Takes over the session keys that a Salt master left in `<cachedir>/sessions/`, once, so that its minions need not authenticate again.
 * Source: docs/protocol.md section 6.3.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createDurably } from "../disk/durable-file.ts";
import { idIsValid } from "../keys/states.ts";

const folder = "sessions";
/** This file marks that the directory has been read. Salt's files stay, so that an operator can go back to Salt. */
const marker = ".sessions-taken-over";
const keyString = /^[A-Za-z0-9+/]{64,88}={0,2}$/;

export type SaltSession = { readonly id: string; readonly keyString: string; readonly createdMs: number };

function readSession(cachedir: string, id: string): SaltSession | undefined {
  const path = join(cachedir, folder, id);
  const stat = statSync(path);
  if (!stat.isFile()) return undefined;
  const text = readFileSync(path, "utf8").trim();
  return keyString.test(text) ? { id, keyString: text, createdMs: stat.mtimeMs } : undefined;
}

/**
 * Calls `put` with each session in Salt's directory, at the first start only.
 *
 * @returns the number of sessions
 */
export async function takeOverSessions(
  cachedir: string,
  put: (session: SaltSession) => Promise<void>,
): Promise<number> {
  const directory = join(cachedir, folder);
  const done = join(cachedir, marker);
  if (existsSync(done) || !existsSync(directory)) return 0;
  let taken = 0;
  for (const id of readdirSync(directory).filter(idIsValid)) {
    const session = readSession(cachedir, id);
    if (session === undefined) continue;
    await put(session);
    taken += 1;
  }
  createDurably(done, "", 0o600);
  return taken;
}
