/** How long to wait after a fault before trying again: doubled while faults go on, from the start once there was none for a while. */
export class FaultDelay {
  readonly #minMs: number;
  readonly #maxMs: number;
  #delayMs = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** Faults of things tried side by side count as one. */
  next(nowMs: number): number {
    if (nowMs < this.#untilMs) return this.#delayMs;
    const isNew = nowMs >= this.#untilMs + this.#maxMs;
    this.#delayMs = isNew ? this.#minMs : Math.min(this.#maxMs, this.#delayMs * 2);
    this.#untilMs = nowMs + this.#delayMs;
    return this.#delayMs;
  }
}
