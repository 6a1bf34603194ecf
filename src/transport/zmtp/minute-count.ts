/** How many messages or commands a connection has brought in the present minute. Pure: the clock is its caller's. */
const minuteMs = 60_000;

export class MinuteCount {
  #minute = 0;
  #count = 0;

  /** Counts one. @returns the count of this minute, with this one */
  add(nowMs: number): number {
    const minute = Math.floor(nowMs / minuteMs);
    if (this.#minute !== minute) this.#count = 0;
    this.#minute = minute;
    this.#count += 1;
    return this.#count;
  }
}
