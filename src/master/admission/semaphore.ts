/** A semaphore: a number of places for work of one kind. Work without a place waits in turn. */
export class Semaphore {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#taken < this.#max) this.#taken += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place goes directly to the next in line, so that later work cannot take it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
