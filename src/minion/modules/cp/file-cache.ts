/**
 * The minion's copies of files from elsewhere, in Salt's layout: `files/ENVIRONMENT/..` from the master, `extrn_files/..` from other servers,
 * `localfiles/..` from this machine.
 */
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { isDirectory, isFile } from "../../../config/files/kinds.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { hashLocalFile } from "./local-roots.ts";
import { type FileHash, type MasterFile, masterFileHash, masterFilePieces } from "./master-file.ts";

/** Only the minion may read its cache. */
const directoryMode = 0o700;
const fileMode = 0o600;
/** A file name on Linux has at most 255 bytes; Salt hashes longer ones. */
const nameCharsMax = 255;

/** @throws SaltworksError FUNCTION_FAILED for a name that leads out of the cache */
export function cachedPath(context: CallContext, { path, environment }: MasterFile): string {
  const inside = normalize(path).replace(/\/+$/, "");
  if (inside === ".." || inside.startsWith("../") || inside.startsWith("/") || path.includes("\0"))
    throw commandError(`${path} leads out of the file roots`);
  return join(context.config.cachedir, "files", environment, inside);
}

/** The path of the copy of another server's file. */
export function externalPath(context: CallContext, url: URL, environment: string): string {
  const host = url.host.replaceAll(":", "");
  const name = url.search === "" ? url.pathname : `${url.pathname}-${url.search.slice(1)}`;
  const root = join(context.config.cachedir, "extrn_files", environment, host);
  const path = join(root, name);
  if (!path.startsWith(`${root}/`)) throw commandError(`${url.href} leads out of the cache`);
  return name.length <= nameCharsMax ? path : join(root, createHash("sha256").update(name).digest("hex"));
}

export function localFilesPath(context: CallContext, path: string): string {
  return join(context.config.cachedir, "localfiles", normalize(`/${path}`));
}

export function hasContent(path: string, { hashType, hash }: FileHash): boolean {
  return isFile(path) && hashLocalFile(path, hashType) === hash;
}

/** Brings the cache's copy up to date. @returns its path; undefined if the master does not have the file */
export async function cacheMasterFile(context: CallContext, file: MasterFile): Promise<string | undefined> {
  const hash = await masterFileHash(context, file);
  if (hash === undefined) return undefined;
  const path = cachedPath(context, file);
  if (hasContent(path, hash)) return path;
  const pieces = await masterFilePieces(context, file);
  if (pieces === undefined) return undefined;
  await replaceCached(path, pieces);
  return path;
}

/** Replaces a cached file. The old copy stays until the new one is complete. */
export async function replaceCached(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const directory = dirname(path);
  if (isFile(directory)) rmSync(directory);
  mkdirSync(directory, { recursive: true, mode: directoryMode });
  const temporary = `${path}.${process.pid}.part`;
  try {
    await writePieces(temporary, pieces, fileMode);
    // The path may be a directory that was cached before.
    if (isDirectory(path)) rmSync(path, { recursive: true });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** @param mode - mode of a new file; an existing file keeps its mode */
export async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>, mode = 0o666): Promise<void> {
  const handle = openSync(path, "w", mode);
  try {
    for await (const piece of pieces) {
      for (let done = 0; done < piece.byteLength; ) done += writeSync(handle, piece, done);
    }
  } finally {
    closeSync(handle);
  }
}

/** Content in memory as a sequence of one piece. */
export async function* onePiece(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
