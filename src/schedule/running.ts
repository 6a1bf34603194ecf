/** Counts the calls of scheduled jobs that run. */
export class RunningJobs {
  readonly #byName = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  /** @returns what is called at the call's end */
  begin(name: string): () => void {
    this.#change(name, 1);
    return () => this.#change(name, -1);
  }

  #change(name: string, change: number): void {
    this.#all += change;
    const count = this.of(name) + change;
    if (count > 0) this.#byName.set(name, count);
    else this.#byName.delete(name);
  }
}
