/** The delay after a fault: it doubles while faults go on, and starts again after a while without one. */
export class FaultDelay {
  readonly #minMs: number;
  readonly #maxMs: number;
  #delayMs = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** Faults of simultaneous tries count as one. */
  next(nowMs: number): number {
    if (nowMs < this.#untilMs) return this.#delayMs;
    const isNew = nowMs >= this.#untilMs + this.#maxMs;
    this.#delayMs = isNew ? this.#minMs : Math.min(this.#maxMs, this.#delayMs * 2);
    this.#untilMs = nowMs + this.#delayMs;
    return this.#delayMs;
  }
}
