/**
 * The secret by which a local user proves itself to the master: the file `<cachedir>/.<user>_key`, which only this user can read.
 * Salt's command line sends its content as `key`. Source: docs/protocol.md section 11.1.
 */
import { chownSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { generateKeyString } from "../../crypto/crypticle.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably } from "../disk/durable-file.ts";

const mode = 0o600;

function readKey(file: string): string | undefined {
  try {
    const key = readFileSync(file, "utf8");
    return key === "" ? undefined : key;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return undefined;
    throw new SaltworksError("STORE_FAILED", `${file} cannot be read`, { file }, { cause: error });
  }
}

/**
 * Returns the secret of `user`, or makes one. A restart keeps it, so that running commands go on.
 *
 * @param uid the user that gets the file; undefined for the user that runs the master
 */
export function ensureLocalKey(cachedir: string, user: string, uid?: number): string {
  mkdirSync(cachedir, { recursive: true });
  const file = join(cachedir, `.${user}_key`);
  const key = presentOrNew(file);
  if (uid !== undefined) giveTo(file, uid);
  return key;
}

/** Changes the file's owner. Only root can, so a master of another user keeps the file, as in Salt. */
function giveTo(file: string, uid: number): void {
  const { uid: owner, gid } = statSync(file);
  if (owner !== uid && process.getuid?.() === 0) chownSync(file, uid, gid);
}

function presentOrNew(file: string): string {
  const present = readKey(file);
  if (present !== undefined) return present;
  const made = generateKeyString();
  if (!createDurably(file, made, mode)) {
    // Another process made the file meanwhile, or the file is empty, which does not count as a secret.
    const theirs = readKey(file);
    if (theirs !== undefined) return theirs;
    throw new SaltworksError("STORE_FAILED", `${file} is empty`, { file });
  }
  return made;
}
