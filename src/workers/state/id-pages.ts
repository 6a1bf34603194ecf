/**
 * Minion ids encoded in msgpack, in the order of their numbers, so that a long list is made by copying runs and not by encoding.
 * Source: docs/protocol.md section 2.6: texts up to 31 bytes, and texts with 2 bytes of length, are the same in both flavours.
 */
import type { Bitmap } from "../../target/fleet/bitmap.ts";
import type { PackedTexts } from "../../wire/text-list.ts";

const bytesMin = 64 * 1024;
const minionsMin = 1_024;
/** Runs up to this length are copied by a loop, because a call of `copy` costs more. */
const shortRunBytesMax = 96;
const fixedTextBytesMax = 31;
const headBytesMax = 3;
const wordBytes = 4;

export class IdPages {
  readonly #idOf: (minion: number) => string;
  #bytes = Buffer.allocUnsafeSlow(bytesMin);
  #end = 0;
  /** Start and length of each number's id; length 0 for a number that is not written. */
  #starts = new Uint32Array(minionsMin);
  #lengths = new Uint32Array(minionsMin);
  #longest = 0;
  #staleBytes = 0;

  constructor(idOf: (minion: number) => string) {
    this.#idOf = idOf;
  }

  /** Writes the ids of these numbers. A number may belong to another minion than before. */
  write(minions: Iterable<number>): void {
    for (const minion of minions) this.#write(minion);
    if (this.#staleBytes > this.#end / 2) this.#rewrite();
  }

  /** Packs the ids of these numbers into new memory. All must have been written. */
  pack(minions: Bitmap): PackedTexts {
    const count = minions.count();
    // An upper bound of the bytes: memory pages that are never written cost nothing.
    const into = Buffer.allocUnsafeSlow(Math.min(this.#end, count * this.#longest) + wordBytes);
    const run = new Run(this.#bytes, into);
    const starts = this.#starts;
    const lengths = this.#lengths;
    const words = minions.words;
    for (let index = 0; index < words.length; index += 1) {
      let word = words[index] ?? 0;
      while (word !== 0) {
        const minion = index * 32 + 31 - Math.clz32(word & -word);
        word &= word - 1;
        run.take(starts[minion] ?? 0, lengths[minion] ?? 0);
      }
    }
    return { count, bytes: new Uint8Array(into.buffer, 0, run.copy()) };
  }

  #write(minion: number): void {
    const id = this.#idOf(minion);
    const length = Buffer.byteLength(id);
    this.#reserve(length + headBytesMax + wordBytes, minion);
    this.#staleBytes += this.#lengths[minion] ?? 0;
    const start = this.#end;
    if (length <= fixedTextBytesMax) {
      this.#bytes[start] = 0xa0 + length;
      this.#end += 1;
    } else {
      this.#bytes[start] = 0xda;
      this.#end = this.#bytes.writeUInt16BE(length, start + 1);
    }
    this.#end += this.#bytes.write(id, this.#end, "utf8");
    this.#starts[minion] = start;
    this.#lengths[minion] = this.#end - start;
    this.#longest = Math.max(this.#longest, this.#end - start);
  }

  #reserve(bytes: number, minion: number): void {
    if (this.#end + bytes > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#end + bytes, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#end);
      this.#bytes = grown;
    }
    if (minion < this.#starts.length) return;
    const count = Math.max(minion + 1, this.#starts.length * 2);
    this.#starts = grownTo(this.#starts, count);
    this.#lengths = grownTo(this.#lengths, count);
  }

  /** Writes all ids anew in the order of their numbers, without stale ones. */
  #rewrite(): void {
    const known = Array.from(this.#lengths.keys()).filter((minion) => this.#lengths[minion] !== 0);
    this.#lengths.fill(0);
    this.#end = 0;
    this.#staleBytes = 0;
    for (const minion of known) this.#write(minion);
  }
}

/** Copies adjacent ids together. */
class Run {
  readonly #from: Buffer;
  readonly #into: Buffer;
  readonly #fromView: DataView;
  readonly #intoView: DataView;
  #start = 0;
  #end = 0;
  #at = 0;

  constructor(from: Buffer, into: Buffer) {
    this.#from = from;
    this.#into = into;
    this.#fromView = new DataView(from.buffer);
    this.#intoView = new DataView(into.buffer);
  }

  take(start: number, length: number): void {
    if (start !== this.#end) {
      this.copy();
      this.#start = start;
    }
    this.#end = start + length;
  }

  /** @returns the bytes copied so far */
  copy(): number {
    const length = this.#end - this.#start;
    if (length > shortRunBytesMax) {
      this.#from.copy(this.#into, this.#at, this.#start, this.#end);
    } else {
      // Copies four bytes at a time, for speed. The next run overwrites up to 3 bytes too many.
      for (let done = 0; done < length; done += wordBytes) {
        this.#intoView.setInt32(this.#at + done, this.#fromView.getInt32(this.#start + done));
      }
    }
    this.#at += length;
    return this.#at;
  }
}

function grownTo(numbers: Uint32Array<ArrayBuffer>, count: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(count);
  grown.set(numbers);
  return grown;
}
