/**
 * Session keys that a Salt master left in `<cachedir>/sessions/`: taken over once, so that its minions need not authenticate again
 * for their requests. Source: docs/protocol.md section 6.3.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createDurably } from "../disk/durable-file.ts";
import { idIsValid } from "../keys/states.ts";

const folder = "sessions";
/** Its presence says that the directory has been read; Salt's files stay, so that one can go back. */
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
 * Hands each session of Salt's directory to `put`, the first time only.
 *
 * @returns how many were taken
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
