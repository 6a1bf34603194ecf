/** A token bucket for the log lines of one kind: `logBurstLines` at once, then one in `logLineMs`. Pure. */
import { logBurstLines, logLineMs } from "../../limits.ts";

export class LineAllowance {
  #lines = logBurstLines;
  #countedMs: number;
  #suppressed = 0;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** @returns the number of lines left out before this one; undefined if this one is left out, too */
  take(nowMs: number): number | undefined {
    this.#lines = Math.min(logBurstLines, this.#lines + Math.max(0, nowMs - this.#countedMs) / logLineMs);
    this.#countedMs = nowMs;
    if (this.#lines < 1) {
      this.#suppressed += 1;
      return undefined;
    }
    this.#lines -= 1;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}
