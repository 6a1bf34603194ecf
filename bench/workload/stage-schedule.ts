/** Arrival times within a stage whose rate may rise or fall in a line. */
import type { Arrivals } from "../load/open-loop.ts";
import { seededRandom } from "../load/random.ts";
import type { Stage } from "./schema.ts";

/** Operations of a rate (a second) that a stage plans. */
export function operationsIn(rate: number, { seconds, from, to }: Pick<Stage, "seconds" | "from" | "to">): number {
  return Math.round((rate * seconds * (from + to)) / 2);
}

/**
 * Planned times in milliseconds from the stage's start, ascending; as many as `operationsIn`. Times are the ones at which the expected number of
 * operations reaches 0, 1, 2, .. (`constant`) or sums of exponential gaps (`poisson`), scaled so that the last one falls into the stage.
 */
export function stageSchedule(
  rate: number,
  stage: Pick<Stage, "seconds" | "from" | "to">,
  arrivals: Arrivals,
  seed: number,
): Float64Array {
  const count = operationsIn(rate, stage);
  const expected = (rate * stage.seconds * (stage.from + stage.to)) / 2;
  const marks =
    arrivals === "constant" ? Float64Array.from({ length: count }, (_, k) => k) : gapsOf(count, expected, seed);
  return marks.map((mark) => 1_000 * timeOf(mark, rate, stage));
}

/** Positions of `count` random arrivals among `expected`: uniform order statistics, which a Poisson process has for a given count. */
function gapsOf(count: number, expected: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const sums = new Float64Array(count);
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    at += -Math.log(1 - random());
    sums[index] = at;
  }
  const whole = at - Math.log(1 - random());
  return sums.map((sum) => (sum / whole) * expected);
}

/** The second at which the expected number of operations is `mark`: the inverse of rate x (from s + (to - from) s^2 / 2 seconds). */
function timeOf(mark: number, rate: number, { seconds, from, to }: Pick<Stage, "seconds" | "from" | "to">): number {
  if (mark === 0) return 0;
  const slope = (rate * (to - from)) / seconds;
  const start = rate * from;
  if (Math.abs(slope) < 1e-12) return mark / start;
  // The stable form of the quadratic's root.
  const root = Math.sqrt(Math.max(0, start * start + 2 * slope * mark));
  return (2 * mark) / (start + root);
}
