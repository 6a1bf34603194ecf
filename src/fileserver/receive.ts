/** `_file_recv`: a piece of a file that a minion sends (`cp.push`), kept below the minion's own directory. Source: Salt 3007's master, docs/protocol.md section 7.1. */
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { hasCodeIn } from "../config/file-errors.ts";
import { idIsValid } from "../store/keys.ts";
import { bytesField, intField, listField } from "../wire/fields.ts";
import type { ValueMap } from "../wire/values.ts";
import type { PushedUsage, Usage } from "./pushed-usage.ts";
import { isBelow, isNotThere } from "./roots.ts";
import type { FileServerSettings } from "./settings.ts";

type ReceiveSettings = Pick<FileServerSettings, "isReceiving" | "receivedBytesMax" | "cachedir">;

/** As the other data of minions. */
const folderMode = 0o750;
const fileMode = 0o640;

/** @param id - of the minion, which has proved itself. @returns whether the piece is on disk */
export async function receivePiece(
  settings: ReceiveSettings,
  usage: PushedUsage,
  id: string,
  load: ValueMap,
): Promise<boolean> {
  const parts = listField(load, "path");
  const loc = intField(load, "loc");
  const data = bytesField(load, "data");
  if (!settings.isReceiving || !idIsValid(id) || parts === undefined || loc === undefined || data === undefined)
    return false;
  if (loc < 0 || loc + data.byteLength > settings.receivedBytesMax) return false;
  const name = nameOf(parts);
  if (name === undefined) return false;
  const root = join(settings.cachedir, "minions", id, "files");
  return await usage.inTurn(root, () => keepPiece(usage, root, name, { loc, data }));
}

async function keepPiece(
  usage: PushedUsage,
  root: string,
  name: string,
  { loc, data }: { readonly loc: number; readonly data: Uint8Array },
): Promise<boolean> {
  const path = join(root, name);
  if (!(await usage.take(root, await growthOf(root, path, loc + data.byteLength)))) return false;
  await mkdir(dirname(path), { recursive: true, mode: folderMode });
  // A link that was left here by hand must not lead the minion's file elsewhere.
  if (!(await isBelow(root, dirname(path)))) return false;
  try {
    const file = await open(path, loc === 0 ? "w" : "r+", fileMode);
    try {
      if (!(await file.stat()).isFile()) return false;
      await file.write(data, 0, data.byteLength, loc);
      await file.truncate(loc + data.byteLength);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    // A later piece without the first, or a directory in the file's place.
    if (hasCodeIn(error, "ENOENT", "EISDIR", "ENOTDIR", "ELOOP")) return false;
    throw error;
  }
}

/** What a file of `size` bytes at `path` adds, with the directories on its way that are not there yet. */
async function growthOf(root: string, path: string, size: number): Promise<Usage> {
  const present = await sizeOf(path);
  let entries = present === undefined ? 1 : 0;
  let directory = dirname(path);
  while (directory.length > root.length && (await sizeOf(directory)) === undefined) {
    entries += 1;
    directory = dirname(directory);
  }
  return { entries, bytes: size - (present ?? 0) };
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

/** @returns undefined for a name that leads out of the minion's directory */
function nameOf(parts: readonly unknown[]): string | undefined {
  const texts = parts.filter((part) => typeof part === "string");
  const joined = texts.join("/");
  if (texts.length !== parts.length || joined.includes("\0") || joined.split("/").includes("..")) return undefined;
  const name = normalize(joined);
  return name === "." || name.startsWith("/") || name.endsWith("/") ? undefined : name;
}
