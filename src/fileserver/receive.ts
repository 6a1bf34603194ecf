/**
 * `_file_recv`: writes a piece of a file that a minion sends (`cp.push`) below the minion's own directory.
 * Source: Salt 3007's master, docs/protocol.md section 7.1.
 */
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { hasCodeIn, isNotThere } from "../config/files/system-errors.ts";
import { idIsValid } from "../store/keys/keys.ts";
import { bytesField, intField, listField } from "../wire/fields.ts";
import type { ValueMap } from "../wire/values.ts";
import type { FileServerSettings } from "./backends/contract/settings.ts";
import { isBelow } from "./backends/local/below.ts";
import type { PushedUsage } from "./pushed/by-minion.ts";
import type { PushRefusal } from "./pushed/usage.ts";

type ReceiveSettings = Pick<FileServerSettings, "isReceiving" | "receivedBytesMax" | "cachedir">;

/** The modes of all data of minions on the master. */
const folderMode = 0o750;
const fileMode = 0o640;

/** `refusedBy`: the bound that refused the piece, if one did. */
export type Received = { readonly isKept: boolean; readonly refusedBy?: PushRefusal };
type Piece = { readonly loc: number; readonly data: Uint8Array };

const notKept: Received = { isKept: false };

/** @param id - the minion's proven id. @returns whether the piece is on disk */
export async function receivePiece(
  settings: ReceiveSettings,
  usage: PushedUsage,
  id: string,
  load: ValueMap,
): Promise<Received> {
  const parts = listField(load, "path");
  const loc = intField(load, "loc");
  const data = bytesField(load, "data");
  if (!settings.isReceiving || !idIsValid(id) || parts === undefined || loc === undefined || data === undefined)
    return notKept;
  if (loc < 0) return notKept;
  if (loc + data.byteLength > settings.receivedBytesMax) return { isKept: false, refusedBy: "file_recv_max_size" };
  const name = nameOf(parts);
  if (name === undefined) return notKept;
  const root = join(settings.cachedir, "minions", id, "files");
  return await usage.inTurn(root, () => keepPiece(usage, root, name, { loc, data }));
}

async function keepPiece(usage: PushedUsage, root: string, name: string, piece: Piece): Promise<Received> {
  const path = join(root, name);
  const present = await sizeOf(path);
  // Refuses a later piece of a file whose first piece is missing, before it makes directories.
  if (present === undefined && piece.loc > 0) return notKept;
  const bytes = piece.loc + piece.data.byteLength - (present ?? 0);
  const file = { entries: present === undefined ? 1 : 0, bytes };
  const growth = { entries: file.entries + (await missingDirectories(root, path)), bytes };
  const refusedBy = await usage.take(root, growth);
  if (refusedBy !== undefined) return { isKept: false, refusedBy };
  let isKept: boolean | undefined;
  try {
    isKept = await writePiece(root, path, piece);
    return { isKept };
  } finally {
    // New directories stay counted until the next count. So does the file if the write threw, because a part may be on disk.
    usage.settle(root, growth, isKept === false ? file : undefined);
  }
}

async function writePiece(root: string, path: string, { loc, data }: Piece): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: folderMode });
    // A symbolic link of an operator must not lead the minion's file outside its directory.
    if (!(await isBelow(root, dirname(path)))) return false;
    const file = await open(path, loc === 0 ? "w" : "r+", fileMode);
    try {
      if (!(await file.stat()).isFile()) return false;
      await writeAll(file, data, loc);
      await file.truncate(loc + data.byteLength);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    // The path is a directory, a parent is a file, a path has a loop of links, or the file is gone.
    if (hasCodeIn(error, "ENOENT", "EISDIR", "ENOTDIR", "EEXIST", "ELOOP")) return false;
    throw error;
  }
}

/** Writes all bytes. On a full disk one write may write a part without an error; the next write then fails. */
async function writeAll(file: FileHandle, data: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < data.byteLength) {
    const { bytesWritten } = await file.write(data, written, data.byteLength - written, position + written);
    written += bytesWritten;
  }
}

/** Number of missing directories on the way to a file. */
async function missingDirectories(root: string, path: string): Promise<number> {
  let count = 0;
  let directory = dirname(path);
  while (directory.length > root.length && (await sizeOf(directory)) === undefined) {
    count += 1;
    directory = dirname(directory);
  }
  return count;
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

/** The file's path below the minion's directory; undefined for a path that leads outside. */
function nameOf(parts: readonly unknown[]): string | undefined {
  const texts = parts.filter((part) => typeof part === "string");
  const joined = texts.join("/");
  if (texts.length !== parts.length || joined.includes("\0") || joined.split("/").includes("..")) return undefined;
  const name = normalize(joined);
  return name === "." || name.startsWith("/") || name.endsWith("/") ? undefined : name;
}
