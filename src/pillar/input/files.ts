/**
 * Finds and reads files below the pillar roots. Caches them until they change. A path never leads outside a root. A file that has just
 * changed is not cached, because a second change may leave its time stamp the same.
 */
import { isUtf8 } from "node:buffer";
import { readdirSync, readFileSync, type Stats } from "node:fs";
import { join } from "node:path";
import { statIfThere } from "../../config/files/kinds.ts";
import { SaltworksError } from "../../errors.ts";
import { fileTimesSettledMs, pillarDirectoryDepthMax, pillarFileBytesMax, pillarFilesMax } from "../../limits.ts";

type Stamp = { readonly modifiedMs: number; readonly changedMs: number; readonly inode: number; readonly size: number };
type Kept<T> = { readonly stamp: Stamp; readonly value: T };

export type PillarFile = { readonly path: string; readonly text: string };

function stampOf(stats: Stats): Stamp {
  return { modifiedMs: stats.mtimeMs, changedMs: stats.ctimeMs, inode: stats.ino, size: stats.size };
}

function isSame(a: Stamp, b: Stamp): boolean {
  return a.modifiedMs === b.modifiedMs && a.changedMs === b.changedMs && a.inode === b.inode && a.size === b.size;
}

/** Caches values made from files, by path. Drops the least recently used. */
class FileCache<T> {
  readonly #kept = new Map<string, Kept<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get(path: string, stats: Stats, make: () => T): T {
    const stamp = stampOf(stats);
    const kept = this.#kept.get(path);
    this.#kept.delete(path);
    if (kept !== undefined && isSame(kept.stamp, stamp)) {
      this.#kept.set(path, kept);
      return kept.value;
    }
    const value = make();
    const isSettled = this.#nowMs() - Math.max(stamp.modifiedMs, stamp.changedMs) > fileTimesSettledMs;
    if (isSettled) this.#kept.set(path, { stamp, value });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > pillarFilesMax && oldest !== undefined) this.#kept.delete(oldest);
    return value;
  }
}

/** Whether a path stays below its root: none of its parts is empty, `.` or `..`. */
export function isInside(path: string): boolean {
  return (
    path !== "" && !path.includes("\0") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
}

export class PillarFiles {
  readonly #texts: FileCache<string>;
  readonly #names: FileCache<readonly { readonly name: string; readonly isDirectory: boolean }[]>;

  constructor(nowMs: () => number = Date.now) {
    this.#texts = new FileCache(nowMs);
    this.#names = new FileCache(nowMs);
  }

  /** Reads the file from the first root that has it; undefined if none has. @throws SaltworksError PILLAR_FAILED if it is too large */
  read(roots: readonly string[], path: string): PillarFile | undefined {
    if (!isInside(path)) return undefined;
    for (const root of roots) {
      const found = this.readAt(join(root, path));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Reads any file of this machine. Call it only for paths from the operator's templates. */
  readAt(path: string): PillarFile | undefined {
    const stats = statIfThere(path);
    if (stats?.isFile() !== true) return undefined;
    if (stats.size > pillarFileBytesMax)
      throw new SaltworksError("PILLAR_FAILED", `${path} has ${stats.size} bytes (most: ${pillarFileBytesMax})`);
    return { path, text: this.#texts.get(path, stats, () => textOf(path)) };
  }

  /** Sorted names of all SLS files of these roots. `init.sls` counts under its directory's name. */
  slsNames(roots: readonly string[]): readonly string[] {
    const names = new Set<string>();
    for (const root of roots) this.#walk(root, "", [], names);
    return [...names].sort((a, b) => (a < b ? -1 : 1));
  }

  /** `above`: the parent directories. A link to one of them is skipped, because each loop would double the names. */
  #walk(directory: string, prefix: string, above: readonly string[], names: Set<string>): void {
    const stats = statIfThere(directory);
    if (stats?.isDirectory() !== true || above.length > pillarDirectoryDepthMax) return;
    const place = `${stats.dev}:${stats.ino}`;
    if (above.includes(place)) return;
    const entries = this.#names.get(directory, stats, () => listing(directory));
    for (const { name, isDirectory } of entries) {
      if (isDirectory) this.#walk(join(directory, name), `${prefix}${name}.`, [...above, place], names);
      else if (name === "init.sls" && prefix !== "") names.add(prefix.slice(0, -1));
      else if (name.endsWith(".sls")) names.add(prefix + name.slice(0, -".sls".length));
    }
  }
}

function textOf(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) throw Object.assign(notUtf8(bytes), { file: path });
    return bytes.toString("utf8");
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    const { code = "an error" } = error as NodeJS.ErrnoException;
    throw new SaltworksError("PILLAR_FAILED", `${path} cannot be read: ${code}`, {}, { cause: error });
  }
}

function notUtf8(bytes: Buffer): SaltworksError {
  let line = 1;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf("\n", start) + 1;
    if (end === 0 || !isUtf8(bytes.subarray(start, end))) break;
    start = end;
    line += 1;
  }
  return new SaltworksError("PILLAR_FAILED", "the file is not UTF-8", { line });
}

/** Follows links. */
function listing(directory: string): readonly { readonly name: string; readonly isDirectory: boolean }[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const isDirectory = entry.isSymbolicLink()
      ? statIfThere(join(directory, entry.name))?.isDirectory() === true
      : entry.isDirectory();
    return isDirectory || entry.name.endsWith(".sls") ? [{ name: entry.name, isDirectory }] : [];
  });
}
