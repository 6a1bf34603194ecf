/**
 * Asks every worker for its measures and waits a bounded time. A worker that is busy or hangs is shown with its last answer, marked as stale.
 * Each worker has at most one question under way, so that questions do not pile up at one that hangs.
 */
import type { WorkerMeasures } from "../../workers/measures/measures.ts";

/** `measures`: of the worker's last answer; undefined before the first. */
export type WorkerReading = { readonly isStale: boolean; readonly measures: WorkerMeasures | undefined };

export type WorkerReaderOptions = {
  readonly slotCount: number;
  readonly ask: (slot: number) => Promise<WorkerMeasures>;
  /** How long `read` waits for all workers. */
  readonly timeoutMs: number;
  readonly onFault: (error: Error) => void;
};

export class WorkerReader {
  readonly #options: WorkerReaderOptions;
  readonly #latest: (WorkerMeasures | undefined)[];
  readonly #underWay: (Promise<void> | undefined)[];
  readonly #formerCounters = new Map<string, number>();

  constructor(options: WorkerReaderOptions) {
    this.#options = options;
    this.#latest = new Array<WorkerMeasures | undefined>(options.slotCount).fill(undefined);
    this.#underWay = new Array<Promise<void> | undefined>(options.slotCount).fill(undefined);
  }

  /** Sum of the last counters of all replaced workers, because a sum over all workers must never decrease. */
  get formerCounters(): ReadonlyMap<string, number> {
    return this.#formerCounters;
  }

  /** Readings by worker slot. */
  async read(): Promise<WorkerReading[]> {
    const slots = this.#latest.map((_, slot) => slot);
    const isFresh = slots.map(() => false);
    const answers = slots.map(async (slot) => {
      // The answer to an earlier question counts as fresh for this reading, too.
      this.#underWay[slot] ??= this.#ask(slot);
      const before = this.#latest[slot];
      await this.#underWay[slot];
      isFresh[slot] = this.#latest[slot] !== before;
    });
    await within(this.#options.timeoutMs, Promise.all(answers));
    return slots.map((slot) => ({ isStale: isFresh[slot] !== true, measures: this.#latest[slot] }));
  }

  async #ask(slot: number): Promise<void> {
    try {
      const measures = await this.#options.ask(slot);
      const before = this.#latest[slot];
      if (before !== undefined && before.threadId !== measures.threadId) this.#keepCounters(before);
      this.#latest[slot] = measures;
    } catch (error) {
      this.#options.onFault(error as Error);
    } finally {
      this.#underWay[slot] = undefined;
    }
  }

  #keepCounters({ counters }: WorkerMeasures): void {
    for (const [name, count] of Object.entries(counters)) {
      this.#formerCounters.set(name, (this.#formerCounters.get(name) ?? 0) + count);
    }
  }
}

async function within(timeoutMs: number, step: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([step, isOver]);
  clearTimeout(timer);
}
