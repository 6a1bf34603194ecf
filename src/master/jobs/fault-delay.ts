/** Exponential backoff: the delay doubles while faults go on, and starts again at `minMs` when a delay ended `maxMs` ago. */
export class FaultDelay {
  readonly #minMs: number;
  readonly #maxMs: number;
  #delayMs = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** The delay after a fault. Faults before the end of the present delay do not double it. */
  next(nowMs: number): number {
    if (nowMs < this.#untilMs) return this.#delayMs;
    const isNew = nowMs >= this.#untilMs + this.#maxMs;
    this.#delayMs = isNew ? this.#minMs : Math.min(this.#maxMs, this.#delayMs * 2);
    this.#untilMs = nowMs + this.#delayMs;
    return this.#delayMs;
  }
}
