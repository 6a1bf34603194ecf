/** Numbers that look random and are the same in each run. */

/** @returns a function whose results are integers from 0 to below its argument */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}
