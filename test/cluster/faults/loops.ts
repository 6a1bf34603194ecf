/** Steps of a load that go on while members refuse them or are silent. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../bench/load/random.ts";
import { SaltworksError } from "../../../src/errors.ts";

export class Loops {
  /** By the code of the error. */
  readonly refusals = new Map<string, number>();
  readonly #random: Random;
  readonly #running: Promise<void>[] = [];
  #isStopping = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Takes the step again and again, `everyMs` apart on average. */
  add(everyMs: number, step: () => unknown): void {
    this.#running.push(this.#repeat(everyMs, step));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running);
  }

  async #repeat(everyMs: number, step: () => unknown): Promise<void> {
    while (!this.#isStopping) {
      try {
        await step();
      } catch (error) {
        const why = error instanceof SaltworksError ? error.code : (error as NodeJS.ErrnoException).code;
        if (why === undefined) throw error;
        this.refusals.set(why, (this.refusals.get(why) ?? 0) + 1);
      }
      await delay(everyMs * (0.5 + this.#random()));
    }
  }
}
