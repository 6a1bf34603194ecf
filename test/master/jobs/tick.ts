/** A step of node's mock clock that lets promises settle. */
import { mock } from "node:test";

const settlingTurns = 10;

/** Lets find_job's promise settle between two ticks of the clock. */
export async function tick(ms: number): Promise<void> {
  mock.timers.tick(ms);
  for (let turn = 0; turn < settlingTurns; turn += 1) await Promise.resolve();
}
