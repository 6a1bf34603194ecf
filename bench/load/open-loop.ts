/**
 * Open-loop schedules: the times of all operations are decided beforehand and do not depend on the master. Latency counts from the
 * planned time, so that a stall delays every operation that was planned within it.
 */
import { SaltworksError } from "../../src/errors.ts";
import { seededRandom } from "./random.ts";

export type Arrivals = "constant" | "poisson";

export type Schedule = {
  readonly count: number;
  /** Planned times, milliseconds from the start, ascending. */
  readonly plannedMs: Float64Array;
};

/** An operation that is sent this much after its planned time counts as late: the generator was behind. A timer alone may be 1 ms late. */
export const lateMs = 5;

/** @throws SaltworksError USAGE for a rate or a span that is not above zero */
export function planSchedule(o: {
  ratePerSecond: number;
  seconds: number;
  arrivals: Arrivals;
  seed: number;
}): Schedule {
  if (!(o.ratePerSecond > 0) || !(o.seconds > 0)) {
    throw new SaltworksError("USAGE", `an open loop needs a rate and a time above 0, not ${o.ratePerSecond}/s`);
  }
  const count = Math.max(1, Math.round(o.ratePerSecond * o.seconds));
  const plannedMs = new Float64Array(count);
  const gapMs = 1_000 / o.ratePerSecond;
  if (o.arrivals === "constant") {
    for (let index = 0; index < count; index += 1) plannedMs[index] = index * gapMs;
    return { count, plannedMs };
  }
  const random = seededRandom(o.seed);
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    at += -Math.log(1 - random()) * gapMs;
    plannedMs[index] = at;
  }
  return { count, plannedMs };
}

/** Calls `onDue` for each operation at its time; for several at once if their times fall into one turn of the timer. */
export class Pacer {
  readonly #plannedMs: Float64Array;
  readonly #onDue: (index: number) => void;
  readonly #startedMs: number;
  #next = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onDue called with the operation's index */
  constructor(plannedMs: Float64Array, startedMs: number, onDue: (index: number) => void) {
    this.#plannedMs = plannedMs;
    this.#startedMs = startedMs;
    this.#onDue = onDue;
    this.#tick();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  readonly #tick = (): void => {
    const nowMs = performance.now() - this.#startedMs;
    while (this.#next < this.#plannedMs.length && (this.#plannedMs[this.#next] ?? 0) <= nowMs) {
      this.#next += 1;
      this.#onDue(this.#next - 1);
    }
    const dueMs = this.#plannedMs[this.#next];
    if (dueMs !== undefined) this.#timer = setTimeout(this.#tick, dueMs - nowMs);
  };
}
