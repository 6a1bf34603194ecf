/**
 * Finds changes below the file roots since the last call (`fileserver.update`), and keeps the modification times in Salt's file.
 * Source: Salt 3007's `roots` backend.
 */
import { mkdirSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isNotThere, nothingIfGone, undefinedIfGone } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { listedFilesMax } from "../../../limits.ts";
import { replaceFile } from "../../../store/disk/durable-file.ts";
import type { FileChanges } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";

type ChangeSettings = Pick<FileServerSettings, "roots" | "isIgnored" | "cachedir">;
/** Modification times by path: seconds in the form of Python's floats. */
type Times = Map<string, string>;

/** The changes name paths on the master. */
export async function noteChanges(settings: ChangeSettings): Promise<FileChanges> {
  const file = join(settings.cachedir, "roots", "mtime_map");
  const before = await readTimes(file);
  const now = await timesBelow(settings);
  const changed = [...before].filter(([path, time]) => (now.get(path) ?? time) !== time).map(([path]) => path);
  const removed = [...before.keys()].filter((path) => !now.has(path));
  const added = [...now.keys()].filter((path) => !before.has(path));
  mkdirSync(dirname(file), { recursive: true });
  replaceFile(file, [...now].map(([path, time]) => `${path}:${time}\n`).join(""), 0o644);
  return { isChanged: changed.length + removed.length + added.length > 0, changed, added, removed };
}

async function readTimes(file: string): Promise<Times> {
  try {
    const lines = (await readFile(file, "utf8")).split("\n");
    return new Map(
      lines.flatMap((line): [string, string][] => {
        const at = line.lastIndexOf(":");
        return at > 0 && Number.isFinite(Number(line.slice(at + 1))) ? [[line.slice(0, at), line.slice(at + 1)]] : [];
      }),
    );
  } catch (error) {
    if (isNotThere(error)) return new Map();
    throw error;
  }
}

async function timesBelow({ roots, isIgnored }: ChangeSettings): Promise<Times> {
  const times: Times = new Map();
  const walk = async (directory: string): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(nothingIfGone)) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) await walk(path);
      else if (!isIgnored(path)) {
        const stats = await stat(path).catch(undefinedIfGone);
        if (stats !== undefined && !stats.isDirectory()) times.set(path, pythonSeconds(stats.mtimeMs));
      }
      if (times.size > listedFilesMax) {
        throw new SaltworksError("FILES_FAILED", `the file roots have more than ${listedFilesMax} files`, {
          max: listedFilesMax,
        });
      }
    }
  };
  for (const root of new Set([...roots.values()].flat())) await walk(resolve(root));
  return times;
}

function pythonSeconds(modifiedMs: number): string {
  const seconds = String(modifiedMs / 1_000);
  return seconds.includes(".") ? seconds : `${seconds}.0`;
}
