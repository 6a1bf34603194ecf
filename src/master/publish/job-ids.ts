/** Makes job ids from the wall clock in microseconds. Each is later than the one before, even if several are made in one microsecond. */
import { jidAt } from "../../wire/jid.ts";

export type JobIdsOptions = {
  /** Appends this process' id (`unique_jid`). */
  readonly isUnique: boolean;
  readonly nowMs?: () => number;
  /** A monotonic clock, with fractions of a millisecond. */
  readonly steadyMs?: () => number;
};

/**
 * The monotonic clock gives the microseconds. If it differs from the wall clock by more milliseconds than this, it is aligned again. They differ
 * after the wall clock was set or the machine slept. Jobs with wrong ids would be trimmed as old, or differ from the ids of other programs.
 */
const clockStepMs = 1_000;
/** Milliseconds. If the clock was set back by less, ids continue from the last one and stay in order. If by more, the earlier time was wrong. */
const setBackMs = 60_000;

export class JobIds {
  readonly #options: JobIdsOptions;
  readonly #nowMs: () => number;
  readonly #steadyMs: () => number;
  #originMs: number;
  #lastMicros = 0;

  constructor(options: JobIdsOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#steadyMs = options.steadyMs ?? (() => performance.now());
    this.#originMs = this.#nowMs() - this.#steadyMs();
  }

  next(): string {
    const steadyMs = this.#steadyMs();
    const nowMs = this.#nowMs();
    if (Math.abs(nowMs - (this.#originMs + steadyMs)) > clockStepMs) this.#originMs = nowMs - steadyMs;
    const nowMicros = Math.floor((this.#originMs + steadyMs) * 1_000);
    const isSetBack = this.#lastMicros - nowMicros > setBackMs * 1_000;
    this.#lastMicros = isSetBack ? nowMicros : Math.max(nowMicros, this.#lastMicros + 1);
    const jid = jidAt(Math.floor(this.#lastMicros / 1_000), this.#lastMicros % 1_000);
    return this.#options.isUnique ? `${jid}_${process.pid}` : jid;
  }
}
