/**
 * Distance of two names: insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
 */

/** Names of `known` that a mistyped name probably means, nearest first. */
export function nearestNames(name: string, known: Iterable<string>): string[] {
  const distanceMax = name.length <= shortLength ? 1 : 2;
  return distancesTo(name, known, distanceMax)
    .filter(({ distance }) => distance <= distanceMax)
    .sort((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate);
}

/** The distance of each candidate, or `distanceMax + 1`. */
export function distancesTo(name: string, candidates: Iterable<string>, distanceMax: number) {
  return Array.from(candidates, (candidate) => ({ candidate, distance: editDistance(name, candidate, distanceMax) }));
}

/** Names up to this length may differ in one mistake only: two turn most of them into another name. */
const shortLength = 5;

/** The distance, or `max + 1` as soon as it is known to be more than `max`. */
export function editDistance(left: string, right: string, max: number): number {
  if (Math.abs(left.length - right.length) > max) return max + 1;
  let twoAbove: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const replaced = (above[column - 1] ?? 0) + (isSame ? 0 : 1);
      const inserted = Math.min(current[column - 1] ?? 0, above[column] ?? 0) + 1;
      const swapped = isSwap ? (twoAbove[column - 2] ?? 0) + 1 : max + 1;
      current.push(Math.min(replaced, inserted, swapped));
    }
    if (Math.min(...current) > max) return max + 1;
    twoAbove = above;
    above = current;
  }
  return above[right.length] ?? max + 1;
}
