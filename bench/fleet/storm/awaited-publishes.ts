/**
 * Holds the returns of jobs that are published within the run. A minion returns to a job after its publish, however long the master takes for that:
 * a return that came before would be one to an unknown job.
 */
export class AwaitedPublishes {
  /** By request: its job. */
  readonly #jobOf: Uint32Array;
  readonly #begin: (request: number, lateMs: number) => void;
  /** Of published jobs. */
  readonly #lateMs = new Map<number, number>();
  /** By job that is not published yet: its requests that were due, and when. */
  readonly #held = new Map<number, { readonly request: number; readonly dueMs: number }[]>();
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @param begin called once for each request, `lateMs` after its planned time */
  constructor(jobOf: Uint32Array, begin: (request: number, lateMs: number) => void) {
    this.#jobOf = jobOf;
    this.#begin = begin;
  }

  /** The planned time of a request, which counts from the planned time of its job's publish, has come. */
  due(request: number): void {
    const job = this.#jobOf[request] ?? 0;
    const nowMs = performance.now();
    const lateMs = this.#lateMs.get(job);
    if (lateMs !== undefined) {
      this.#beginAt(nowMs + lateMs, request, lateMs);
      return;
    }
    const held = this.#held.get(job) ?? [];
    held.push({ request, dueMs: nowMs });
    this.#held.set(job, held);
  }

  /** @param lateMs from the planned time of the publish to the master's answer */
  published(job: number, lateMs: number): void {
    this.#lateMs.set(job, lateMs);
    for (const { request, dueMs } of this.#held.get(job) ?? []) this.#beginAt(dueMs + lateMs, request, lateMs);
    this.#held.delete(job);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #beginAt(atMs: number, request: number, lateMs: number): void {
    const waitMs = atMs - performance.now();
    if (waitMs <= 0) {
      this.#begin(request, lateMs);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#begin(request, lateMs);
    }, waitMs);
    this.#timers.add(timer);
  }
}
