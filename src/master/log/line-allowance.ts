/** A token bucket for the log lines of one kind: by default `logBurstLines` at once, then one in `logLineMs`. Pure. */
import { logBurstLines, logLineMs } from "../../limits.ts";

export type LineRate = { readonly burstLines: number; readonly lineMs: number };

export class LineAllowance {
  readonly #rate: LineRate;
  #lines: number;
  #countedMs: number;
  #suppressed = 0;

  constructor(nowMs: number, rate: LineRate = { burstLines: logBurstLines, lineMs: logLineMs }) {
    this.#rate = rate;
    this.#lines = rate.burstLines;
    this.#countedMs = nowMs;
  }

  /** @returns the number of lines left out before this one; undefined if this one is left out, too */
  take(nowMs: number): number | undefined {
    const { burstLines, lineMs } = this.#rate;
    this.#lines = Math.min(burstLines, this.#lines + Math.max(0, nowMs - this.#countedMs) / lineMs);
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
