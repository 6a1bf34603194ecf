/** Caches hashes of files until the files change. Concurrent requests for a file share one computation. */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { fileHashesMax, fileTimesSettledMs, smallFileBytesMax } from "../../../limits.ts";
import { SmallFiles } from "./small-files.ts";

/** Bytes of one read. Other tasks run between two reads. */
const readBytes = 256 * 1024;

type Kept = { readonly stamp: string; readonly hash: string };

export class FileHashes {
  readonly counters = { made: 0, known: 0 };
  readonly #hashType: string;
  readonly #nowMs: () => number;
  /** By path, least recently used first. */
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<string>>();
  readonly #small = new SmallFiles();

  constructor(hashType: string, nowMs: () => number = Date.now) {
    this.#hashType = hashType;
    this.#nowMs = nowMs;
  }

  /** Returns the hash in hexadecimal. `stats`: the file's current stat. @throws the file system's error */
  async hash(path: string, stats: BigIntStats): Promise<string> {
    const stamp = stampOf(stats);
    const kept = this.#kept.get(path);
    if (kept?.stamp === stamp) {
      this.counters.known += 1;
      this.#keep(path, kept);
      return kept.hash;
    }
    const key = `${stamp} ${path}`;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return await underWay;
    const making = this.#make(path);
    this.#underWay.set(key, making);
    try {
      return await making;
    } finally {
      this.#underWay.delete(key);
    }
  }

  /** The content of a small file that was hashed and has not changed since. `stats`: the file's current stat. */
  content(path: string, stats: BigIntStats): Buffer | undefined {
    return this.#small.content(path, stampOf(stats));
  }

  async #make(path: string): Promise<string> {
    this.counters.made += 1;
    const file = await open(path);
    try {
      const before = await file.stat({ bigint: true });
      const { hash, content } = await hashOf(file, this.#hashType);
      const after = await file.stat({ bigint: true });
      const stamp = stampOf(after);
      const changedMs = Math.max(Number(after.mtimeMs), Number(after.ctimeMs));
      if (stampOf(before) === stamp && this.#nowMs() - changedMs > fileTimesSettledMs) {
        this.#keep(path, { stamp, hash });
        if (content !== undefined) this.#small.keep(path, stamp, content);
      }
      return hash;
    } finally {
      await file.close();
    }
  }

  #keep(path: string, kept: Kept): void {
    this.#kept.delete(path);
    this.#kept.set(path, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > fileHashesMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** `content`: of a small file. */
async function hashOf(file: FileHandle, hashType: string): Promise<{ hash: string; content: Buffer | undefined }> {
  const hash = createHash(hashType);
  const buffer = Buffer.allocUnsafe(readBytes);
  let content: Buffer | undefined = noBytes;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return { hash: hash.digest("hex"), content };
    const read = buffer.subarray(0, bytesRead);
    hash.update(read);
    const isSmall: boolean = content !== undefined && content.length + bytesRead <= smallFileBytesMax;
    content = content !== undefined && isSmall ? Buffer.concat([content, read]) : undefined;
  }
}

const noBytes = Buffer.alloc(0);

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}
