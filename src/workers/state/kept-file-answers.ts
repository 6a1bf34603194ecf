/**
 * Answers to requests for files that a worker gives to all minions that ask the same within `fileAnswerFreshMs`. A fleet that applies its states asks
 * for the same files at the same time, and an answer from memory costs a fifth of one from the file lane. docs/decisions/0035-file-answers.md.
 */
import { fileAnswerFreshMs, fileAnswerKeptBytesMax, fileAnswersKeptBytesMax } from "../../limits.ts";
import type { KeptAnswer } from "../messages/lanes.ts";

type Kept = { readonly answer: Uint8Array; readonly askedMs: number };

export class KeptFileAnswers {
  /** By request, the one kept longest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns undefined if none is known that is fresh */
  find(key: string, nowMs: number): Uint8Array | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && isFresh(kept, nowMs) ? kept.answer : undefined;
  }

  /** `askedMs`: when the request came for which the lane made the answers, by the clock of `nowMs`. The files were read after it. */
  keep(answers: readonly KeptAnswer[], askedMs: number, nowMs: number): void {
    for (const { key, answer } of answers) {
      const present = this.#kept.get(key);
      if (present !== undefined && present.askedMs > askedMs) continue;
      this.#drop(key);
      if (answer.byteLength > fileAnswerKeptBytesMax || !isFresh({ askedMs }, nowMs)) continue;
      this.#kept.set(key, { answer, askedMs });
      this.#bytes += answer.byteLength;
    }
    this.forgetOld(nowMs);
  }

  /** Lets go answers that are no longer fresh, and the oldest beyond the bound. */
  forgetOld(nowMs: number): void {
    for (const [key, kept] of this.#kept) {
      if (isFresh(kept, nowMs) && this.#bytes <= fileAnswersKeptBytesMax) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.answer.byteLength ?? 0;
    this.#kept.delete(key);
  }
}

/** An answer to a worker that was replaced has the time of another clock, which may lie in the future. */
function isFresh({ askedMs }: { readonly askedMs: number }, nowMs: number): boolean {
  return askedMs <= nowMs && nowMs - askedMs < fileAnswerFreshMs;
}
