/** Puts the pieces of large messages of one stream together. Pure. */
import { returnPiecesBytesMax, returnRepeatWindowMs } from "../../limits.ts";
import type { Piece } from "./message.ts";

type Unfinished = {
  readonly parts: (Buffer | undefined)[];
  readonly firstSequence: number;
  readonly startMs: number;
  missing: number;
  bytes: number;
};

export class Pieces {
  readonly counters = { dropped: 0 };
  /** By name, oldest first. */
  readonly #unfinished = new Map<string, Unfinished>();
  /** First messages of whole ones whose returns are not stored yet. */
  #unstored: number[] = [];
  #bytes = 0;

  /** The first message of one that is not whole or not stored yet, which a member must read again after a restart. */
  get firstSequence(): number | undefined {
    const [oldest] = this.#unfinished.values();
    const all = oldest === undefined ? this.#unstored : [oldest.firstSequence, ...this.#unstored];
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** Notes that the returns of all whole messages are stored. */
  noteStored(): void {
    this.#unstored = [];
  }

  /** @param timeMs - when the stream got the piece: a member's own clock may jump. @returns the message, once it is whole */
  add({ name, index, count, bytes }: Piece, sequence: number, timeMs: number): Buffer | undefined {
    this.#dropOld(timeMs);
    if (index >= count || count * bytes.byteLength > 2 * returnPiecesBytesMax) return undefined;
    let whole = this.#unfinished.get(name);
    if (whole === undefined) {
      whole = { parts: new Array(count), firstSequence: sequence, startMs: timeMs, missing: count, bytes: 0 };
      this.#unfinished.set(name, whole);
    }
    if (whole.parts.length !== count || whole.parts[index] !== undefined) return undefined;
    // A copy, because the bytes are valid only during the call.
    whole.parts[index] = Buffer.from(bytes);
    whole.missing -= 1;
    whole.bytes += bytes.byteLength;
    this.#bytes += bytes.byteLength;
    if (whole.missing === 0) {
      this.#forget(name, whole);
      this.#unstored.push(whole.firstSequence);
      return Buffer.concat(whole.parts.filter((part) => part !== undefined));
    }
    this.#dropLarge(name);
    return undefined;
  }

  /** A sender that died does not send the rest. */
  #dropOld(timeMs: number): void {
    for (const [name, whole] of this.#unfinished) {
      if (timeMs - whole.startMs < returnRepeatWindowMs) return;
      this.#drop(name, whole);
    }
  }

  #dropLarge(newest: string): void {
    for (const [name, whole] of this.#unfinished) {
      if (this.#bytes <= returnPiecesBytesMax) return;
      if (name !== newest || this.#unfinished.size === 1) this.#drop(name, whole);
    }
  }

  #drop(name: string, whole: Unfinished): void {
    this.counters.dropped += 1;
    this.#forget(name, whole);
  }

  #forget(name: string, whole: Unfinished): void {
    this.#unfinished.delete(name);
    this.#bytes -= whole.bytes;
  }
}
