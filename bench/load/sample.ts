/** Draws some of a number of things, each at most once. */
import type { Random } from "./random.ts";

/** `count` different numbers below `total`, ascending. Selection sampling: each is kept with the share that is still wanted. */
export function drawSample(total: number, count: number, random: Random): number[] {
  const drawn: number[] = [];
  for (let index = 0; index < total && drawn.length < count; index += 1) {
    if (random() * (total - index) < count - drawn.length) drawn.push(index);
  }
  return drawn;
}
