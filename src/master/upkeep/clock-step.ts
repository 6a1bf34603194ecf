/**
 * Detects that the wall clock was set, by comparing it with a monotonic clock. While the wall clock may be a year
 * ahead, nothing may be removed for its age.
 */
import { uptime } from "node:os";
import { clockTrustMs } from "../../limits.ts";

/** Milliseconds since boot, to 10 ms: a monotonic clock that also counts while the machine sleeps. */
export function bootMs(): number {
  return uptime() * 1_000;
}

/** Smaller differences count as drift or as a late timer. */
const stepMs = 60_000;

export class ClockStep {
  readonly #steadyMs: () => number;
  readonly #leastMs: number;
  #aheadMs: number;
  #trustedFromMs = Number.NEGATIVE_INFINITY;

  /** `leastMs`: the smallest difference that counts as a step. */
  constructor(nowMs: number, steadyMs: () => number, leastMs = stepMs) {
    this.#leastMs = leastMs;
    this.#steadyMs = steadyMs;
    this.#aheadMs = nowMs - steadyMs();
  }

  /** @returns the milliseconds by which the clock was set since the last look; 0 if it was not set */
  look(nowMs: number): number {
    const steadyMs = this.#steadyMs();
    const step = nowMs - steadyMs - this.#aheadMs;
    if (Math.abs(step) < this.#leastMs) return 0;
    this.#aheadMs += step;
    this.#trustedFromMs = step > 0 ? steadyMs + clockTrustMs : Number.NEGATIVE_INFINITY;
    return step;
  }

  /** False for `clockTrustMs` after the clock was set forward, or until it is set back. */
  get isTrusted(): boolean {
    return this.#steadyMs() >= this.#trustedFromMs;
  }
}
