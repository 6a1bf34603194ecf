/**
 * Notices that the wall clock was set forward, by comparing it with a clock that is never set. Nothing may be removed for its age by a clock that
 * may be a year ahead.
 */
import { uptime } from "node:os";
import { clockTrustMs } from "../../limits.ts";

/** Milliseconds since the machine started, to 10 ms: a clock that is never set, and counts while the machine sleeps. */
export function bootMs(): number {
  return uptime() * 1_000;
}

/** Smaller differences are drift, or a late timer. */
const stepMs = 60_000;

export class ClockStep {
  readonly #steadyMs: () => number;
  readonly #leastMs: number;
  #aheadMs: number;
  #trustedFromMs = Number.NEGATIVE_INFINITY;

  /** `leastMs`: the smallest step. */
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

  /** False for a while after the clock was set forward, or until it is set back. */
  get isTrusted(): boolean {
    return this.#steadyMs() >= this.#trustedFromMs;
  }
}
