/**
 * The contents of a repository's files. Small ones stay in memory; larger ones are taken out of the repository into files, which are removed when no
 * client has asked for them for a day. Contents are known by their ids, so they never change.
 */
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, renameSync, rmSync, utimesSync } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { nothingIfGone, undefinedIfGone } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import type { Repository } from "../../../git/repository.ts";
import type { TreeEntry } from "../../../git/tree.ts";
import { fileHashesMax, gitContentsKeptBytesMax, gitLargeFilesKeptMs, gitSmallFileBytesMax } from "../../../limits.ts";
import { FileHashes } from "../local/hashes.ts";

type Blob = Pick<TreeEntry, "oid" | "size">;

export class Blobs {
  readonly #repository: Repository;
  readonly #hashType: string;
  readonly #fileHashes: FileHashes;
  /** By id, least recently used first. */
  readonly #contents = new Map<string, { readonly size: number; readonly content: Promise<Buffer> }>();
  readonly #hashes = new Map<string, string>();
  readonly #takenOut = new Map<string, Promise<string>>();
  #keptBytes = 0;

  constructor(repository: Repository, hashType: string) {
    this.#repository = repository;
    this.#hashType = hashType;
    this.#fileHashes = new FileHashes(hashType);
  }

  isSmall({ size }: Blob): boolean {
    return size <= gitSmallFileBytesMax;
  }

  /** The whole content of a small file. @throws SaltworksError GIT_FAILED */
  content(blob: Blob): Promise<Buffer> {
    const { oid } = blob;
    const known = this.#contents.get(oid);
    if (known !== undefined) {
      this.#contents.delete(oid);
      this.#contents.set(oid, known);
      return known.content;
    }
    const content = this.#repository.blob(oid);
    this.#contents.set(oid, { size: blob.size, content });
    this.#keptBytes += blob.size;
    content.catch(() => this.#forget(oid));
    for (const oldest of this.#contents.keys()) {
      if (this.#keptBytes <= gitContentsKeptBytesMax || oldest === oid) break;
      this.#forget(oldest);
    }
    return content;
  }

  /** In hexadecimal. @throws SaltworksError GIT_FAILED */
  async hash(blob: Blob): Promise<string> {
    const known = this.#hashes.get(blob.oid);
    if (known !== undefined) return known;
    const hash = this.isSmall(blob)
      ? createHash(this.#hashType)
          .update(await this.content(blob))
          .digest("hex")
      : await this.#hashOfLarge(blob);
    this.#hashes.set(blob.oid, hash);
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > fileHashesMax && oldest !== undefined) this.#hashes.delete(oldest);
    return hash;
  }

  /** @throws SaltworksError GIT_FAILED */
  async read(blob: Blob, offset: number, bytesMax: number): Promise<Uint8Array> {
    if (this.isSmall(blob)) return (await this.content(blob)).subarray(offset, offset + bytesMax);
    const file = await open(await this.#path(blob));
    try {
      const piece = Buffer.allocUnsafeSlow(Math.max(0, Math.min(bytesMax, blob.size - offset)));
      let length = 0;
      while (length < piece.length) {
        const { bytesRead } = await file.read(piece, length, piece.length - length, offset + length);
        if (bytesRead === 0) throw new SaltworksError("GIT_FAILED", "a file taken out of a repository is cut");
        length += bytesRead;
      }
      return piece;
    } finally {
      await file.close();
    }
  }

  /** Removes large files that no client has asked for lately. */
  async sweep(nowMs: number): Promise<void> {
    const directory = this.#repository.pathFor("large");
    for (const name of await readdir(directory).catch(nothingIfGone)) {
      const path = join(directory, name);
      const stats = await stat(path).catch(undefinedIfGone);
      if (stats !== undefined && nowMs - stats.mtimeMs > gitLargeFilesKeptMs) rmSync(path, { force: true });
    }
  }

  #forget(oid: string): void {
    this.#keptBytes -= this.#contents.get(oid)?.size ?? 0;
    this.#contents.delete(oid);
  }

  async #hashOfLarge(blob: Blob): Promise<string> {
    const path = await this.#path(blob);
    return await this.#fileHashes.hash(path, await stat(path, { bigint: true }));
  }

  /** The file that has the content of a large one; requests for it share its making. */
  async #path(blob: Blob): Promise<string> {
    const path = this.#repository.pathFor("large", blob.oid);
    const stats = await stat(path).catch(undefinedIfGone);
    if (stats?.size === blob.size) {
      const nowSeconds = Date.now() / 1_000;
      // Its time says when it was last asked for.
      if (nowSeconds - stats.mtimeMs / 1_000 > 3_600) utimesSync(path, nowSeconds, nowSeconds);
      return path;
    }
    const underWay = this.#takenOut.get(blob.oid) ?? this.#takeOut(blob, path);
    this.#takenOut.set(blob.oid, underWay);
    try {
      return await underWay;
    } finally {
      this.#takenOut.delete(blob.oid);
    }
  }

  async #takeOut({ oid }: Blob, path: string): Promise<string> {
    mkdirSync(this.#repository.pathFor("large"), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.${performance.now()}`;
    const file = openSync(temporary, "wx", 0o600);
    try {
      await this.#repository.writeBlob(oid, file);
      renameSync(temporary, path);
    } finally {
      closeSync(file);
      rmSync(temporary, { force: true });
    }
    return path;
  }
}
