/** A found file on this machine, for any backend whose files are or become local. */
import type { BigIntStats } from "node:fs";
import { open } from "node:fs/promises";
import type { Value } from "../../../wire/values.ts";
import type { FoundFile } from "../contract/backend.ts";
import type { FileHashes } from "./hashes.ts";

export class LocalFile implements FoundFile {
  readonly path: string;
  readonly name: string;
  readonly #stats: BigIntStats;
  readonly #hashes: FileHashes;

  /** `stats`: the file's current stat. `hashes`: the backend's cache. */
  constructor(path: string, name: string, stats: BigIntStats, hashes: FileHashes) {
    this.path = path;
    this.name = name;
    this.#stats = stats;
    this.#hashes = hashes;
  }

  /** The same file under another name. */
  named(name: string): LocalFile {
    return new LocalFile(this.path, name, this.#stats, this.#hashes);
  }

  /** Bytes. */
  get size(): number {
    return Number(this.#stats.size);
  }

  stat(): Value[] {
    const seconds = (ns: bigint) => ns / 1_000_000_000n;
    const { mode, ino, dev, nlink, uid, gid, size, atimeNs, mtimeNs, ctimeNs } = this.#stats;
    const fields = [mode, ino, dev, nlink, uid, gid, size, seconds(atimeNs), seconds(mtimeNs), seconds(ctimeNs)];
    return fields.map((value) => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value));
  }

  hash(): Promise<string> {
    return this.#hashes.hash(this.path, this.#stats);
  }

  content(): Uint8Array | undefined {
    return this.#hashes.content(this.path, this.#stats);
  }

  async read(offset: number, bytesMax: number): Promise<Uint8Array> {
    const known = this.content();
    if (known !== undefined) return known.subarray(offset, offset + bytesMax);
    const file = await open(this.path);
    try {
      const { size } = await file.stat();
      const piece = Buffer.allocUnsafeSlow(Math.max(0, Math.min(bytesMax, size - offset)));
      let length = 0;
      while (length < piece.length) {
        const { bytesRead } = await file.read(piece, length, piece.length - length, offset + length);
        // The file was truncated in the meantime.
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return piece.subarray(0, length);
    } finally {
      await file.close();
    }
  }
}
