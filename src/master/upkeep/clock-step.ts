/**
 * Tells that the wall clock was set forward, by comparing it with the clock that is never set. What is a day old by a clock that may be a year ahead
 * is not to be removed for that.
 */
import { uptime } from "node:os";
import { clockTrustMs } from "../../limits.ts";

/** Milliseconds since the machine started, to 10 ms: a clock that is never set, and counts while the machine sleeps. */
export function bootMs(): number {
  return uptime() * 1_000;
}

/** Less is drift, or a timer that ran late. */
const stepMs = 60_000;

export class ClockStep {
  readonly #steadyMs: () => number;
  readonly #leastMs: number;
  #aheadMs: number;
  #trustedFromMs = Number.NEGATIVE_INFINITY;

  /** `leastMs`: what counts as a step. */
  constructor(nowMs: number, steadyMs: () => number, leastMs = stepMs) {
    this.#leastMs = leastMs;
    this.#steadyMs = steadyMs;
    this.#aheadMs = nowMs - steadyMs();
  }

  /** @returns milliseconds by which the clock was set since the last look; 0 if it was not */
  look(nowMs: number): number {
    const steadyMs = this.#steadyMs();
    const step = nowMs - steadyMs - this.#aheadMs;
    if (Math.abs(step) < this.#leastMs) return 0;
    this.#aheadMs += step;
    this.#trustedFromMs = step > 0 ? steadyMs + clockTrustMs : Number.NEGATIVE_INFINITY;
    return step;
  }

  /** False for a while after it was set forward, until it is set back. */
  get isTrusted(): boolean {
    return this.#steadyMs() >= this.#trustedFromMs;
  }
}
