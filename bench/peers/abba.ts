/** Measures several masters one at a time in alternating order, so that a drift of the machine affects all alike. */
import type { Progress } from "../scenarios/scenario.ts";
import type { Turn } from "./bootstrap.ts";

/** `turn` loads this master once; the others are up and idle meanwhile. */
export type Side<T extends Turn> = { readonly name: string; turn(): Promise<T> };

/** The order of turns, round by round: A B, B A, A B, ... */
export function turnOrder(sideCount: number, rounds: number): number[][] {
  const forth = Array.from({ length: sideCount }, (_, index) => index);
  const back = forth.toReversed();
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? forth : back));
}

/**
 * @returns the turns of each master by name, one for each round; after the signal, only complete rounds
 * @throws the signal's reason if no round is complete
 */
export async function takeTurns<T extends Turn>(
  sides: readonly Side<T>[],
  rounds: number,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<Map<string, T[]>> {
  const turns = new Map<string, T[]>(sides.map(({ name }) => [name, []]));
  const phase = progress.phase("turns", sides.length * rounds);
  let whole = 0;
  try {
    for (const order of turnOrder(sides.length, rounds)) {
      for (const position of order) {
        signal.throwIfAborted();
        const side = sides[position];
        if (side === undefined) continue;
        turns.get(side.name)?.push(await side.turn());
        phase.step();
      }
      whole += 1;
    }
  } catch (error) {
    if (!signal.aborted || whole === 0) throw error;
  } finally {
    phase.end();
  }
  return new Map([...turns].map(([name, all]) => [name, all.slice(0, whole)]));
}
