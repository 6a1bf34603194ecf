/**
 * Writes small files that must be whole or absent after a crash: writes a temporary file beside, syncs it, renames it, and syncs the directory.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fchmodSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";

/** The name of a temporary file. It is a dotfile, so that listings of keys or jobs skip it. */
function temporaryBeside(path: string): string {
  return join(dirname(path), `.saltworks-${randomBytes(8).toString("hex")}`);
}

function writeWhole(path: string, bytes: Uint8Array | string, mode: number, isSynced: boolean): void {
  const file = openSync(path, "wx", mode);
  try {
    // The process's umask may have cleared bits.
    fchmodSync(file, mode);
    const content = typeof bytes === "string" ? Buffer.from(bytes, "utf8") : bytes;
    for (let offset = 0; offset < content.byteLength; ) offset += writeSync(file, content, offset);
    if (isSynced) fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes renames and removals in a directory durable. */
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

/** Replaces `path` atomically and durably. */
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

/** Replaces `path` atomically, but not durably: after a loss of power it may have its old content. */
export function replaceFile(path: string, bytes: Uint8Array | string, mode: number): void {
  const temporary = temporaryBeside(path);
  try {
    writeWhole(temporary, bytes, mode, false);
    renameSync(temporary, path);
  } finally {
    removeIfThere(temporary);
  }
}

/** Creates `path` with its whole content, durably. @returns false if it already exists; it is then unchanged */
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

/** Writes a file of zeros beside `path`, and removes it. @throws what the file system says, if it has no room for them */
export function probeRoom(path: string, bytes: number): void {
  const temporary = temporaryBeside(path);
  try {
    writeWhole(temporary, Buffer.alloc(bytes), probeMode, false);
  } finally {
    removeIfThere(temporary);
  }
}

const probeMode = 0o600;
