/** Tells whether a thread's event loop turns: the thread increments a count in shared memory, and the main thread looks at it. */
import { laneStillLooksMax, laneTurnMs } from "../../limits.ts";

/** Increments the count every `intervalMs`. The thread calls this as it starts. */
export function countTurns(turns: SharedArrayBuffer, intervalMs = laneTurnMs): void {
  const count = new Int32Array(turns);
  const note = () => Atomics.add(count, 0, 1);
  note();
  setInterval(note, intervalMs).unref();
}

/** For the main thread. Counts looks instead of time, so that a process that was stopped for an hour finds no thread hanging. */
export class TurnWatch {
  readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #turns = new Int32Array(this.memory);
  #seen = 0;
  #stillLooks = 0;

  /** @returns whether the latest `laneStillLooksMax` looks found no turn. A look at an idle thread, or a true result, resets the number. */
  look(isIdle: boolean): boolean {
    const turns = Atomics.load(this.#turns, 0);
    this.#stillLooks = isIdle || turns !== this.#seen ? 0 : this.#stillLooks + 1;
    this.#seen = turns;
    if (this.#stillLooks < laneStillLooksMax) return false;
    this.#stillLooks = 0;
    return true;
  }
}
