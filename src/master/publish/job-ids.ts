/** Makes job ids: the wall clock's microseconds, each later than the one before, even if many are made in one microsecond. */
import { jidAt } from "../../wire/jid.ts";

export type JobIdsOptions = {
  /** Appends this process' id (`unique_jid`). */
  readonly isUnique: boolean;
  readonly nowMs?: () => number;
  /** A clock that is never set, with fractions. */
  readonly steadyMs?: () => number;
};

/**
 * Milliseconds by which the steady clock, which gives the microseconds, may differ from the wall clock before it is set to it. They differ after
 * the clock was set or the machine slept. Wrong ids would be trimmed as old, or differ from those of other programs.
 */
const clockStepMs = 1_000;
/** If the clock was set back by less, ids wait for it and stay in order. If by more, it was wrong before. Milliseconds. */
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
