/**
 * Bounds what forged requests cost a worker: their bytes are counted when the worker has examined them, and large unproven requests wait until the count
 * has run down. Requests that prove themselves are not counted, so that honest minions on new connections do not delay each other.
 */
import { forgedBytesOwedMax, forgedBytesPerSecondMax } from "../../limits.ts";

export class Forgeries {
  #owedBytes = 0;
  #countedMs = 0;

  note(bytes: number, nowMs: number): void {
    this.#runDown(nowMs);
    this.#owedBytes = Math.min(forgedBytesOwedMax, this.#owedBytes + bytes);
  }

  /** Milliseconds until a worker may examine another large request. */
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
