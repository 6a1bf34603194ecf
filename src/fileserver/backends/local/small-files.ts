/** Keeps the content of small files that were hashed, until they change: a minion that asks for a hash often asks for the file next. */
import { smallFileBytesMax, smallFilesKeptBytesMax } from "../../../limits.ts";

type Kept = { readonly stamp: string; readonly content: Buffer };

export class SmallFiles {
  /** By path, the one kept longest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** `stamp`: the file's current one. */
  content(path: string, stamp: string): Buffer | undefined {
    const kept = this.#kept.get(path);
    return kept?.stamp === stamp ? kept.content : undefined;
  }

  keep(path: string, stamp: string, content: Buffer): void {
    this.#drop(path);
    if (content.length > smallFileBytesMax) return;
    this.#kept.set(path, { stamp, content });
    this.#bytes += content.length;
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= smallFilesKeptBytesMax) return;
      this.#drop(oldest);
    }
  }

  #drop(path: string): void {
    this.#bytes -= this.#kept.get(path)?.content.length ?? 0;
    this.#kept.delete(path);
  }
}
