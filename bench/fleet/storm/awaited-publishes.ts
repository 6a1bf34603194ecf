/**
 * Holds the returns of jobs that are published within the run. A minion returns to a job after its publish, however long the master takes for that:
 * a return that came before would be one to an unknown job.
 */

export type AwaitedOptions = {
  /** By request: its job. */
  readonly jobOf: Uint32Array;
  /** When a request is due if its job is published at the planned time, by `performance.now()`. */
  readonly dueAtMs: (request: number) => number;
  /** Called once for each request, unless it is dropped, `lateMs` after it was due. */
  readonly begin: (request: number, lateMs: number) => void;
  /** Called once for each request of a job that was not published. */
  readonly drop: (request: number) => void;
};

export class AwaitedPublishes {
  readonly #options: AwaitedOptions;
  /** Of jobs whose publish is over; undefined: it failed. */
  readonly #lateMs = new Map<number, number | undefined>();
  /** By job whose publish is not over: its requests that were due. */
  readonly #held = new Map<number, number[]>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: AwaitedOptions) {
    this.#options = options;
  }

  /** The time of a request has come, if its job was published at the planned time. */
  due(request: number): void {
    const job = this.#options.jobOf[request] ?? 0;
    if (this.#lateMs.has(job)) {
      this.#move(request, this.#lateMs.get(job), 0);
      return;
    }
    const held = this.#held.get(job) ?? [];
    held.push(request);
    this.#held.set(job, held);
  }

  /** @param lateMs from the planned time of the publish to the master's answer; undefined if the publish failed */
  published(job: number, lateMs: number | undefined): void {
    this.#lateMs.set(job, lateMs);
    // A minion hears of the job now, and not before, however short its delay is.
    for (const request of this.#held.get(job) ?? []) this.#move(request, lateMs, performance.now());
    this.#held.delete(job);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #move(request: number, lateMs: number | undefined, earliestMs: number): void {
    if (lateMs === undefined) {
      this.#options.drop(request);
      return;
    }
    const dueMs = this.#options.dueAtMs(request);
    const atMs = Math.max(dueMs + lateMs, earliestMs);
    this.#beginAt(atMs, request, atMs - dueMs);
  }

  #beginAt(atMs: number, request: number, lateMs: number): void {
    const waitMs = atMs - performance.now();
    if (waitMs <= 0) {
      this.#options.begin(request, lateMs);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // Node's timers may fire up to two milliseconds early.
      this.#beginAt(atMs, request, lateMs);
    }, waitMs);
    this.#timers.add(timer);
  }
}
