/**
 * Marks of minions whose grains, pillar and mine stay when their key is deleted (`--preserve-minions=True`): a file per id in the cache directory.
 * The caller that deletes the key sets the mark first. The worker that learns of the deletion removes the mark.
 */
import { mkdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { keepMarkMs } from "../../limits.ts";
import { idIsValid } from "./states.ts";

const markFolder = ".saltworks_keep";
const folderMode = 0o700;
const markMode = 0o600;

/** @throws SaltworksError STORE_FAILED */
export function setKeepMarks(cachedir: string, ids: readonly string[]): void {
  const folder = join(cachedir, markFolder);
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    for (const id of ids.filter(idIsValid)) writeFileSync(join(folder, id), "", { mode: markMode });
  } catch (cause) {
    throw new SaltworksError(
      "STORE_FAILED",
      "the mark that keeps a minion's data cannot be written",
      { folder },
      { cause },
    );
  }
}

/** Removes the mark. @returns whether there was one that is younger than `keepMarkMs`. @throws SaltworksError STORE_FAILED */
export function takeKeepMark(cachedir: string, id: string): boolean {
  if (!idIsValid(id)) return false;
  const mark = join(cachedir, markFolder, id);
  try {
    const { mtimeMs } = statSync(mark);
    unlinkSync(mark);
    return Date.now() - mtimeMs < keepMarkMs;
  } catch (cause) {
    if (hasCodeIn(cause, "ENOENT", "ENOTDIR")) return false;
    throw new SaltworksError(
      "STORE_FAILED",
      "the mark that keeps a minion's data cannot be removed",
      { id },
      { cause },
    );
  }
}
