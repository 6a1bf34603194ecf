/**
 * Small files that must be whole or absent after a crash: written beside, synced, renamed, and the directory synced.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fchmodSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";

/** A dotfile, so that no listing of keys or jobs takes it for one of its own. */
function temporaryBeside(path: string): string {
  return join(dirname(path), `.saltworks-${randomBytes(8).toString("hex")}`);
}

function writeWhole(path: string, bytes: Uint8Array | string, mode: number, isSynced: boolean): void {
  const file = openSync(path, "wx", mode);
  try {
    // The process' umask may have taken bits away.
    fchmodSync(file, mode);
    const content = typeof bytes === "string" ? Buffer.from(bytes, "utf8") : bytes;
    for (let offset = 0; offset < content.byteLength; ) offset += writeSync(file, content, offset);
    if (isSynced) fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Puts renames and removals in a directory on disk. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT")) throw error;
  }
}

/** Replaces `path` atomically; on return it is on disk. */
export function replaceDurably(path: string, bytes: Uint8Array | string, mode: number): void {
  const temporary = temporaryBeside(path);
  try {
    writeWhole(temporary, bytes, mode, true);
    renameSync(temporary, path);
  } finally {
    removeIfThere(temporary);
  }
  syncDirectory(dirname(path));
}

/** Replaces `path` atomically; a loss of power may bring the old content back. */
export function replaceFile(path: string, bytes: Uint8Array | string, mode: number): void {
  const temporary = temporaryBeside(path);
  try {
    writeWhole(temporary, bytes, mode, false);
    renameSync(temporary, path);
  } finally {
    removeIfThere(temporary);
  }
}

/** Creates `path` with its whole content, durably. @returns false if it was there already, untouched */
export function createDurably(path: string, bytes: Uint8Array | string, mode: number): boolean {
  const temporary = temporaryBeside(path);
  try {
    writeWhole(temporary, bytes, mode, true);
    linkSync(temporary, path);
  } catch (error) {
    if (hasCodeIn(error, "EEXIST")) return false;
    throw error;
  } finally {
    removeIfThere(temporary);
  }
  syncDirectory(dirname(path));
  return true;
}
