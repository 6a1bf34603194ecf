/** Counts a connection's messages or commands in the current minute. Pure: the caller gives the time. */
const minuteMs = 60_000;

export class MinuteCount {
  #minute = 0;
  #count = 0;

  /** Counts one more. @returns this minute's count, that one included */
  add(nowMs: number): number {
    const minute = Math.floor(nowMs / minuteMs);
    if (this.#minute !== minute) this.#count = 0;
    this.#minute = minute;
    this.#count += 1;
    return this.#count;
  }
}
