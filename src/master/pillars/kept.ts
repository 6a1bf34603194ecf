/**
 * The cache of rendered pillars (`pillar_cache`). Decides which questions it may answer, and holds the pillars in memory here, or in files, which the
 * pillar lane reads and writes. Source: Salt 3007's `PillarCache`, whose key is the minion and `pillarenv`, without its grains.
 */
import { pillarCacheEnvironmentsMax, pillarCacheMemoryBytesMax } from "../../limits.ts";
import type { PillarResult, PillarTask } from "../../workers/messages/pillar.ts";
import { ForgetCounts, type ForgetMark, isForgottenSince } from "../../workers/threads/forget-counts.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";

type Kept = { readonly record: Uint8Array; readonly atMs: number };

export type KeptPillarsOptions = {
  readonly isOn: boolean;
  readonly backend: "disk" | "memory";
  readonly ttlMs: number;
  /** `pillarenv_from_saltenv` */
  readonly followsSaltenv: boolean;
  /** Runs a task in a rendering thread. */
  readonly run: LanePool["run"];
  readonly nowMs?: () => number;
};

export class KeptPillars {
  readonly counters = { hits: 0, misses: 0, forgotten: 0, unkept: 0 };
  readonly #options: KeptPillarsOptions;
  /** By minion and environment. The minion whose pillar was cached longest ago comes first. */
  readonly #memory = new Map<string, Map<string | null, Kept>>();
  readonly #forgets = new ForgetCounts();
  #bytes = 0;

  constructor(options: KeptPillarsOptions) {
    this.#options = options;
  }

  get memoryBytes(): number {
    return this.#bytes;
  }

  /** Whether a cached pillar may answer. On-demand pillars and top files are never cached. */
  serves(task: PillarTask): boolean {
    return this.#options.isOn && task.isTopOnly !== true && task.onDemand === undefined;
  }

  /** The task with the `pillarenv` under which its pillar is cached. */
  named(task: PillarTask): PillarTask {
    const { followsSaltenv } = this.#options;
    return { ...task, pillarenv: task.pillarenv ?? (followsSaltenv ? task.saltenv : undefined) };
  }

  /** Makes a mark by which `isForgottenSince` tells whether the minion's pillars were forgotten later. */
  mark(id: string): ForgetMark {
    return this.#forgets.mark(id);
  }

  /** The cached pillar for this question; undefined if the cache has none. */
  async find(task: PillarTask): Promise<PillarResult | undefined> {
    const found = await this.#find(task);
    this.counters[found === undefined ? "misses" : "hits"] += 1;
    return found;
  }

  async #find(task: PillarTask): Promise<PillarResult | undefined> {
    const { backend, run } = this.#options;
    if (backend === "disk") return await run<PillarResult | undefined>({ ...task, cache: "find" } satisfies PillarTask);
    const kept = this.#memory.get(task.id)?.get(task.pillarenv ?? null);
    if (kept === undefined) return undefined;
    const ageMs = this.#nowMs() - kept.atMs;
    // A negative age means that the clock was set back.
    if (ageMs < 0 || ageMs > this.#options.ttlMs) return undefined;
    return await run<PillarResult>({ ...task, kept: kept.record } satisfies PillarTask);
  }

  /** The task for rendering. With the disk backend the lane caches the pillar itself. */
  renderingOf(task: PillarTask, mark: ForgetMark): PillarTask {
    return this.#options.backend === "disk" ? { ...task, cache: "keep", mark } : task;
  }

  /** Caches a rendered pillar. `mark`: taken before the rendering. */
  note(task: PillarTask, { keepable, unkept }: PillarResult, mark: ForgetMark): void {
    if (unkept !== undefined) this.counters.unkept += 1;
    if (this.#options.backend === "disk" || keepable === undefined || isForgottenSince(mark)) return;
    const environment = task.pillarenv ?? null;
    const own = this.#memory.get(task.id) ?? new Map<string | null, Kept>();
    this.#drop(own, environment);
    own.set(environment, { record: keepable, atMs: this.#nowMs() });
    this.#bytes += keepable.byteLength;
    for (const name of own.keys()) {
      if (own.size <= pillarCacheEnvironmentsMax) break;
      this.#drop(own, name);
    }
    this.#memory.delete(task.id);
    this.#memory.set(task.id, own);
    for (const [id, pillars] of this.#memory) {
      if (this.#bytes <= pillarCacheMemoryBytesMax) break;
      for (const name of pillars.keys()) this.#drop(pillars, name);
      this.#memory.delete(id);
    }
  }

  async forget(id: string): Promise<void> {
    const { isOn, backend, run } = this.#options;
    this.#forgets.note(id);
    if (!isOn) return;
    this.counters.forgotten += 1;
    const own = this.#memory.get(id);
    for (const name of own?.keys() ?? []) if (own !== undefined) this.#drop(own, name);
    this.#memory.delete(id);
    if (backend === "disk") await run({ ...nothingOf(id), cache: "forget" } satisfies PillarTask);
  }

  #drop(own: Map<string | null, Kept>, environment: string | null): void {
    this.#bytes -= own.get(environment)?.record.byteLength ?? 0;
    own.delete(environment);
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? Date.now)();
  }
}

/** A question with nothing but a minion's id. */
export function nothingOf(id: string): PillarTask {
  return { id, grains: undefined, saltenv: undefined, pillarenv: undefined, override: undefined };
}
