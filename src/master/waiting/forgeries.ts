/**
 * What unproven requests may cost a worker that turn out to be forged: their bytes are counted when the worker has looked at them, and large ones wait
 * until the count has run down. Those that prove themselves cost nothing, so that honest minions on new connections are not held up by each other.
 */
import { forgedBytesOwedMax, forgedBytesPerSecondMax } from "../../limits.ts";

export class Forgeries {
  #owedBytes = 0;
  #countedMs = 0;

  note(bytes: number, nowMs: number): void {
    this.#runDown(nowMs);
    this.#owedBytes = Math.min(forgedBytesOwedMax, this.#owedBytes + bytes);
  }

  /** Milliseconds until another large one may be looked at. */
  waitMs(nowMs: number): number {
    this.#runDown(nowMs);
    return Math.ceil(Math.max(0, this.#owedBytes - forgedBytesPerSecondMax) / (forgedBytesPerSecondMax / 1_000));
  }

  #runDown(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#countedMs);
    this.#owedBytes = Math.max(0, this.#owedBytes - (passedMs / 1_000) * forgedBytesPerSecondMax);
    this.#countedMs = nowMs;
  }
}
