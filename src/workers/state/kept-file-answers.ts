/**
 * Answers to requests for files that a worker gives to all minions that ask the same. A fleet that applies its states asks for the same files at
 * the same time, and an answer from memory costs a fifth of one from the file lane. docs/decisions/0035-file-answers.md.
 */
import { fileAnswerFreshMs, fileAnswerKeptBytesMax, fileAnswerOfRunMs, fileAnswersKeptBytesMax } from "../../limits.ts";
import type { AskedAt, KeptAnswers } from "../messages/lanes.ts";
import type { FileEpoch } from "./file-epoch.ts";

type Kept = AskedAt & Pick<KeptAnswers, "isPart"> & { readonly answer: Uint8Array };

export class KeptFileAnswers {
  readonly #epoch: Pick<FileEpoch, "present">;
  /** By request, the one kept longest first. */
  readonly #kept = new Map<string, Kept>();
  /** When minions began their latest run of states, the earliest first; without those before the oldest answer. */
  readonly #runs = new Map<string, number>();
  #bytes = 0;

  constructor(epoch: Pick<FileEpoch, "present">) {
    this.#epoch = epoch;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The time of a request that comes now. */
  now(): AskedAt {
    return { askedMs: performance.now(), epoch: this.#epoch.present };
  }

  /** The minion begins to run states: it gets no answer from before. */
  noteRun(id: string, nowMs: number): void {
    this.#runs.delete(id);
    this.#runs.set(id, nowMs);
    for (const [other, beganMs] of this.#runs) {
      if (nowMs - beganMs < fileAnswerOfRunMs) return;
      this.#runs.delete(other);
    }
  }

  /** @returns undefined if none is known that is fresh for this minion */
  find(key: string, id: string | undefined, now: AskedAt): Uint8Array | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const ageMs = now.askedMs - kept.askedMs;
    if (isYounger(ageMs, fileAnswerFreshMs)) return kept.answer;
    if (kept.isPart || id === undefined || kept.epoch !== now.epoch) return undefined;
    const isOfRun = (this.#runs.get(id) ?? 0) <= kept.askedMs;
    return isOfRun && isYounger(ageMs, fileAnswerOfRunMs) ? kept.answer : undefined;
  }

  /** `asked`: of the request for which the lane made the answers. The files were read after it. */
  keep({ answers, asked: { askedMs, epoch }, isPart }: KeptAnswers, nowMs: number): void {
    for (const { key, answer } of answers) {
      const present = this.#kept.get(key);
      if (present !== undefined && present.askedMs > askedMs) continue;
      this.#drop(key);
      if (answer.byteLength > fileAnswerKeptBytesMax || !isYounger(nowMs - askedMs, fileAnswerOfRunMs)) continue;
      this.#kept.set(key, { answer, askedMs, epoch, isPart });
      this.#bytes += answer.byteLength;
    }
    this.forgetOld(nowMs);
  }

  /** Lets go answers that no minion gets any more, and the oldest beyond the bound. */
  forgetOld(nowMs: number): void {
    for (const [key, { askedMs }] of this.#kept) {
      if (isYounger(nowMs - askedMs, fileAnswerOfRunMs) && this.#bytes <= fileAnswersKeptBytesMax) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.answer.byteLength ?? 0;
    this.#kept.delete(key);
  }
}

/** An answer to a worker that was replaced has the time of another clock, which may lie in the future. */
function isYounger(ageMs: number, boundMs: number): boolean {
  return ageMs >= 0 && ageMs < boundMs;
}
