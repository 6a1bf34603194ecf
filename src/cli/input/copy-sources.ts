/** Finds the files and directories that `saltworks cp` copies, and the place of each on a minion. Source: Salt 3007's `salt-cp`. */
import { isUtf8 } from "node:buffer";
import { createReadStream, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { copiedFilesBytesMax, copiedFilesMax } from "../../limits.ts";
import { baseName } from "../../python/paths.ts";

const { join, relative } = posix;
const permissionBits = 0o7777;

/** `mode`: permission bits. */
export type SourceFile = { readonly path: string; readonly remotePath: string; readonly mode: number };
export type Sources = { readonly files: readonly SourceFile[]; readonly emptyDirectories: readonly string[] };

/**
 * Reads whole files for one job. Returns contents by path, without missing files.
 *
 * @throws SaltworksError USAGE for a file that is too large or not text, and for other kinds of entries
 */
export function readWhole(paths: readonly string[], onMissing: (path: string) => void): Map<string, string> {
  const files = new Map<string, string>();
  let bytes = 0;
  for (const path of paths) {
    const stats = look(path);
    if (stats === undefined) {
      onMissing(path);
      continue;
    }
    if (!stats.isFile()) throw usage(`${path} is neither a file nor a directory`, path);
    bytes += stats.size;
    if (bytes > copiedFilesBytesMax) {
      throw usage(`${path} is too large for one job, which carries ${copiedFilesBytesMax} bytes: use --chunked`, path);
    }
    const content = readFileSync(path);
    if (!isUtf8(content)) throw usage(`${path} is not text in UTF-8: use --chunked`, path);
    files.set(path, content.toString("utf8"));
  }
  return files;
}

/** The first directory among the paths. */
export function firstDirectory(paths: readonly string[]): string | undefined {
  return paths.find((path) => look(path)?.isDirectory() === true);
}

/**
 * Finds all files and empty directories below these paths, each with its place below `destination`.
 *
 * @throws SaltworksError USAGE for a missing path, and over `copiedFilesMax` or `copiedFilesBytesMax`
 */
export function findSources(paths: readonly string[], destination: string): Sources {
  const walk = new Walk();
  for (const path of paths) walk.visit(path);
  const { files, emptyDirectories } = walk;
  const isDirectory = emptyDirectories.length > 0 || files.length > 1 || destination.endsWith("/");
  const place = (path: string) => remotePath(path, paths, destination, isDirectory);
  return {
    files: files.map(({ path, mode }) => ({ path, mode, remotePath: place(path) })),
    emptyDirectories: emptyDirectories.map(place),
  };
}

class Walk {
  readonly files: { readonly path: string; readonly mode: number }[] = [];
  readonly emptyDirectories: string[] = [];
  #visited = 0;

  /** Follows links. A link to a directory above it fails at the bound of files or with ELOOP. */
  visit(path: string): void {
    const stats = look(path);
    if (stats === undefined) throw usage(`${path} does not exist`, path);
    this.#visited += 1;
    if (this.#visited > copiedFilesMax) throw usage(`more than ${copiedFilesMax} files and directories`, path);
    if (stats.isFile()) {
      this.files.push({ path, mode: stats.mode & permissionBits });
      return;
    }
    if (!stats.isDirectory()) throw usage(`${path} is neither a file nor a directory`, path);
    const names = readdirSync(path).sort();
    if (names.length === 0) this.emptyDirectories.push(path);
    for (const name of names) this.visit(join(path, name));
  }
}

/** Undefined if the path does not exist. @throws SaltworksError USAGE for a circle of links */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    if (hasCodeIn(cause, "ELOOP", "ENAMETOOLONG")) throw usage(`${path} is a circle of links`, path);
    throw cause;
  }
}

/**
 * In a destination that is a directory, a named file keeps its name; otherwise the destination is its path. Files in
 * a named directory keep their path in it.
 */
function remotePath(path: string, named: readonly string[], destination: string, isDirectory: boolean): string {
  if (named.includes(path)) return isDirectory ? join(destination, baseName(path)) : destination;
  const source = named.find((one) => !relative(one, path).startsWith("../")) ?? path;
  return join(destination, baseName(source), relative(source, path));
}

/** Yields pieces of `pieceBytes`. Yields one empty piece for an empty file, so that the minion creates it. */
export async function* piecesOf(path: string, pieceBytes: number): AsyncGenerator<Buffer, void, void> {
  let isEmpty = true;
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    rest.push(chunk);
    length += chunk.byteLength;
    // A read can return less than `pieceBytes`. Only the last piece may be short.
    while (length >= pieceBytes) {
      const joined = Buffer.concat(rest);
      yield joined.subarray(0, pieceBytes);
      isEmpty = false;
      rest = [joined.subarray(pieceBytes)];
      length = joined.byteLength - pieceBytes;
    }
  }
  if (length > 0 || isEmpty) yield Buffer.concat(rest);
}

function usage(message: string, path: string): SaltworksError {
  return new SaltworksError("USAGE", message, { path });
}
