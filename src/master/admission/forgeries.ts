/**
 * A leaky bucket that bounds the work on forged requests. Their bytes are added when a worker has examined them or the main thread has refused them.
 * Proven requests are not counted, so that honest minions on new connections do not delay each other. Pure.
 */

export class Forgeries {
  readonly #bytesPerSecondMax: number;
  readonly #owedBytesMax: number;
  #owedBytes = 0;
  #countedMs = 0;

  constructor(bytesPerSecondMax: number, owedBytesMax: number) {
    this.#bytesPerSecondMax = bytesPerSecondMax;
    this.#owedBytesMax = owedBytesMax;
  }

  note(bytes: number, nowMs: number): void {
    this.#runDown(nowMs);
    this.#owedBytes = Math.min(this.#owedBytesMax, this.#owedBytes + bytes);
  }

  /** Milliseconds until less than a second's worth is left; 0 if it is now. */
  waitMs(nowMs: number): number {
    this.#runDown(nowMs);
    const over = Math.max(0, this.#owedBytes - this.#bytesPerSecondMax);
    return Math.ceil(over / (this.#bytesPerSecondMax / 1_000));
  }

  #runDown(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#countedMs);
    this.#owedBytes = Math.max(0, this.#owedBytes - (passedMs / 1_000) * this.#bytesPerSecondMax);
    this.#countedMs = nowMs;
  }
}
