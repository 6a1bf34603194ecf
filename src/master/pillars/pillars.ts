/**
 * Answers minions' questions for their pillar: from the cache (`pillar_cache`), or waits for external sources and renders in
 * the pillar lane. The minion's worker stores the result for targeting, and the RSA lane encrypts the reply. Equal waiting questions share
 * one rendering. A rendering under way is not shared, because files may have changed since it began. Cached pillars have a queue of their
 * own, so that they never wait for commands.
 */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import {
  laneQueueMax,
  pillarsUnderWayOfMinionMax,
  pillarsWaitingOfMinionMax,
  pillarWaitMs,
  pythonPillarsWaitingMax,
} from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { Histogram, type HistogramSnapshot, secondsBounds } from "../../workers/measures/histogram.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { PillarResult, PillarTask, SourceResult, SourceTask } from "../../workers/messages/pillar.ts";
import { type ForgetMark, isForgottenSince } from "../../workers/threads/forget-counts.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { givenUpFor, MinionQueue } from "../admission/minion-queue.ts";
import { Semaphore } from "../admission/semaphore.ts";
import type { PythonPillars } from "../sidecar/python-pillars.ts";
import { KeptPillars, type KeptPillarsOptions } from "./kept.ts";
import { keyOf } from "./question-key.ts";
import { SourceCounts } from "./source-counts.ts";

type PillarWork = Extract<Deferred, { kind: "pillar" }>;

export type PillarsOptions = {
  readonly lane: LanePool;
  readonly threadCount: number;
  /** Runs commands of external sources and asks their servers; undefined where the configuration has none. */
  readonly sources: LanePool | undefined;
  readonly sourcesNeedGrains: boolean;
  /** Most pillars whose commands run at once. */
  readonly sourcesMax: number;
  /** Renders pillars that need the site's own Python. */
  readonly python: PythonPillars | undefined;
  readonly cache: Omit<KeptPillarsOptions, "run">;
  readonly rsa: LanePool;
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  /** `minion_data_cache` */
  readonly isKept: boolean;
  readonly renderTimeoutMs: number;
  readonly fire: (tag: string, data: { readonly [key: string]: string }) => void;
  readonly logger: Logger;
};

type Waiting = {
  readonly id: string;
  readonly key: string;
  readonly task: PillarTask;
  readonly askedMs: number;
  /** Taken when the question came. If the minion's pillars are forgotten later, this pillar is not cached. */
  readonly mark: ForgetMark;
  readonly resolve: (pillar: Uint8Array) => void;
  readonly reject: (error: Error) => void;
  readonly answer: Promise<Uint8Array>;
};

/** `pillar`: for the minion. `record`: for the store. */
type Rendered = { readonly pillar: Uint8Array; readonly record: Uint8Array | undefined };

export class Pillars {
  readonly counters = { asked: 0, shared: 0, rendered: 0, failed: 0, refused: 0 };
  /** How commands of external sources ended. */
  readonly commandCounters = { ended: 0, failed: 0, timeout: 0, tooLarge: 0 };
  readonly sourceCounts = new SourceCounts();
  readonly kept: KeptPillars;
  readonly #options: PillarsOptions;
  readonly #waitSeconds = new Histogram(secondsBounds);
  readonly #renderSeconds = new Histogram(secondsBounds);
  readonly #sourceSeconds = new Histogram(secondsBounds);
  readonly #threads: Semaphore;
  readonly #commands: Semaphore;
  #slowestSeconds = 0;
  #slowestSourcesSeconds = 0;
  /** Waiting questions by key, so that equal ones share an answer. A question leaves when its rendering begins. */
  readonly #waiting = new Map<string, Waiting>();
  /** Questions that look for a cached pillar first. */
  readonly #finding: MinionQueue<Waiting>;
  readonly #rendering: MinionQueue<Waiting>;

  constructor(options: PillarsOptions) {
    const { threadCount, sources, sourcesMax } = options;
    const pythonWaitingMax = options.python === undefined ? 0 : pythonPillarsWaitingMax;
    const ofOneMinion = { waitingMax: pillarsWaitingOfMinionMax, underWayMax: pillarsUnderWayOfMinionMax };
    this.#options = options;
    // Bounded by threads and commands, so that the lane's time limit counts only rendering, not waiting.
    this.#finding = new MinionQueue({ underWayMax: threadCount, ofOneMinion });
    this.#rendering = new MinionQueue({
      underWayMax: threadCount + (sources === undefined ? 0 : sourcesMax) + pythonWaitingMax,
      ofOneMinion,
    });
    this.#threads = new Semaphore(options.threadCount);
    this.#commands = new Semaphore(options.sourcesMax);
    this.kept = new KeptPillars({ ...options.cache, run: (task) => this.#inLane(task) });
  }

  get pending(): number {
    return this.#waiting.size + this.#rendering.underWay;
  }

  /** Waits and durations of renderings and of commands, with the longest ones. */
  get times(): {
    readonly wait: HistogramSnapshot;
    readonly render: HistogramSnapshot;
    readonly sources: HistogramSnapshot;
    readonly slowestSeconds: number;
    readonly slowestSourcesSeconds: number;
  } {
    return {
      wait: this.#waitSeconds.snapshot(),
      render: this.#renderSeconds.snapshot(),
      sources: this.#sourceSeconds.snapshot(),
      slowestSeconds: this.#slowestSeconds,
      slowestSourcesSeconds: this.#slowestSourcesSeconds,
    };
  }

  /** Pillars whose commands run now. */
  get commandsRunning(): number {
    return this.#commands.taken;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** @returns the encrypted reply. @throws SaltworksError QUEUE_FULL, or what sealing throws */
  async answer(work: PillarWork): Promise<Uint8Array> {
    const pillar = await this.#pillarFor(work.task);
    return await this.#options.rsa.run<Uint8Array>({ kind: "pillarReply", ...work.reply, pillar });
  }

  #pillarFor(task: PillarTask): Promise<Uint8Array> {
    this.counters.asked += 1;
    const key = keyOf(task);
    const present = this.#waiting.get(key);
    if (present !== undefined) {
      this.counters.shared += 1;
      return present.answer;
    }
    const { promise, resolve, reject } = pledge();
    const asked = { askedMs: performance.now(), mark: this.kept.mark(task.id) };
    const waiting = { id: task.id, key, task, ...asked, resolve, reject, answer: promise };
    const isFindable = task.isCacheCleaned !== true && this.kept.serves(task);
    const isFull = this.#waiting.size >= laneQueueMax;
    const out = isFull ? (givenUpFor(task.id, [this.#finding, this.#rendering]) ?? waiting) : undefined;
    if (out !== undefined) this.#refuse(out);
    if (out !== waiting) this.#line(waiting, isFindable ? this.#finding : this.#rendering);
    return promise;
  }

  #line(waiting: Waiting, turns: MinionQueue<Waiting>): void {
    if (!turns.offer(waiting)) {
      this.#refuse(waiting);
      return;
    }
    this.#waiting.set(waiting.key, waiting);
    this.#pump();
  }

  #refuse({ key, reject }: Waiting): void {
    this.#waiting.delete(key);
    this.counters.refused += 1;
    const detail = { max: laneQueueMax, ofOneMinionMax: pillarsWaitingOfMinionMax };
    reject(new SaltworksError("QUEUE_FULL", "too many pillars wait to be rendered", detail));
  }

  #pump(): void {
    this.#begin(this.#finding, (waiting) => this.#look(waiting));
    this.#begin(this.#rendering, (waiting) => {
      this.#waiting.delete(waiting.key);
      return this.#render(waiting);
    });
  }

  #begin(turns: MinionQueue<Waiting>, work: (waiting: Waiting) => Promise<void>): void {
    for (let next = turns.take(); next !== undefined; next = turns.take()) {
      const waiting = next;
      void work(waiting).finally(() => {
        turns.done(waiting);
        this.#pump();
      });
    }
  }

  #inLane<Result>(task: object): Promise<Result> {
    return this.#threads.run(() => this.#options.lane.run<Result>(task));
  }

  /** Renders a pillar, or only its top files, for a runner. @throws what the lanes throw */
  async show(task: PillarTask): Promise<PillarResult> {
    return await this.#made({ ...task, outcomes: await this.#outcomesFor(task) });
  }

  /** Forgets the cached pillars of a minion. Never throws. */
  async forget(id: string): Promise<void> {
    try {
      await this.kept.forget(id);
    } catch (error) {
      this.#options.logger.error({ id, err: error }, "a kept pillar could not be removed");
    }
  }

  /** Runs the commands of external sources, before a rendering thread is taken. @throws SaltworksError of the lane, if it fails or takes too long */
  async #outcomesFor(task: PillarTask): Promise<PillarTask["outcomes"]> {
    const { sources, sourcesNeedGrains } = this.#options;
    if (sources === undefined || task.isTopOnly === true) return undefined;
    return await this.#commands.run(async () => {
      const startedMs = performance.now();
      const { id, saltenv, pillarenv } = task;
      const asked: SourceTask = { id, saltenv, pillarenv, grains: sourcesNeedGrains ? task.grains : undefined };
      const { outcomes, counts } = await sources.run<SourceResult>(asked);
      for (const [ending, count] of Object.entries(counts))
        this.commandCounters[ending as keyof typeof counts] += count;
      const seconds = (performance.now() - startedMs) / 1_000;
      this.#sourceSeconds.observe(seconds);
      this.#slowestSourcesSeconds = Math.max(this.#slowestSourcesSeconds, seconds);
      return outcomes;
    });
  }

  /** Answers with a cached pillar, or queues the question for rendering. */
  async #look(waiting: Waiting): Promise<void> {
    const { task, askedMs, mark } = waiting;
    const waitedMs = performance.now() - askedMs;
    const found = await this.#kept(task);
    if (found === undefined || isForgottenSince(mark)) {
      this.#line(waiting, this.#rendering);
      return;
    }
    this.#waiting.delete(waiting.key);
    this.#waitSeconds.observe(waitedMs / 1_000);
    await this.#settle(waiting, found);
  }

  /** The cached pillar. If the lookup fails, logs the error and returns undefined: the pillar is then rendered. */
  async #kept(task: PillarTask): Promise<PillarResult | undefined> {
    try {
      return await this.kept.find(this.kept.named(task));
    } catch (error) {
      this.#options.logger.error({ id: task.id, err: error }, "a kept pillar could not be looked up");
      return undefined;
    }
  }

  async #keepable(asked: PillarTask, mark: ForgetMark): Promise<PillarResult> {
    if (!this.kept.serves(asked)) return await this.#fresh(asked);
    const task = this.kept.named(asked);
    const fresh = await this.#fresh(this.kept.renderingOf(task, mark));
    this.kept.note(task, fresh, mark);
    const { unkept } = fresh;
    if (unkept !== undefined) this.#options.logger.error({ id: task.id, code: unkept }, "a pillar could not be kept");
    return fresh;
  }

  async #fresh(task: PillarTask): Promise<PillarResult> {
    const result = await this.#made({ ...task, outcomes: await this.#outcomesFor(task) });
    this.counters.rendered += 1;
    this.sourceCounts.add(result.sources);
    return result;
  }

  /** Renders in a thread of the lane, or beside Python. */
  async #made(task: PillarTask): Promise<PillarResult> {
    const { python, lane } = this.#options;
    if (python?.isFor(task.id) !== true) {
      const result = await this.#threads.run(() => this.#timed(() => lane.run<PillarResult>(task)));
      if (python === undefined || result.needsPython !== true) return result;
    }
    return await this.#timed(() => python.run(task));
  }

  async #timed(render: () => Promise<PillarResult>): Promise<PillarResult> {
    const startedMs = performance.now();
    try {
      return await render();
    } finally {
      const seconds = (performance.now() - startedMs) / 1_000;
      this.#renderSeconds.observe(seconds);
      this.#slowestSeconds = Math.max(this.#slowestSeconds, seconds);
    }
  }

  async #render(waiting: Waiting): Promise<void> {
    const { task, askedMs, reject } = waiting;
    const waitedMs = performance.now() - askedMs;
    if (waitedMs > pillarWaitMs) {
      this.counters.refused += 1;
      const detail = { waitMs: pillarWaitMs };
      reject(new SaltworksError("QUEUE_FULL", "the minion has given up on its pillar by now", detail));
      return;
    }
    this.#waitSeconds.observe(waitedMs / 1_000);
    await this.#settle(waiting, await this.#rendered(task, await this.#cleaned(waiting)));
  }

  /** Forgets the minion's cached pillars if the question asks for that. @returns the mark for caching the new pillar */
  async #cleaned({ task, mark }: Waiting): Promise<ForgetMark> {
    if (task.isCacheCleaned !== true) return mark;
    const isOutdated = isForgottenSince(mark);
    const forgetting = this.forget(task.id);
    const own = this.kept.mark(task.id);
    await forgetting;
    return isOutdated ? mark : own;
  }

  async #settle({ task, resolve, reject }: Waiting, rendered: Rendered): Promise<void> {
    try {
      await this.#keep(task, rendered.record);
      resolve(rendered.pillar);
    } catch (error) {
      reject(error as Error);
    }
  }

  /** Renders a pillar. After a failure it holds only `_errors`: the minion starts, and its states refuse to run. */
  async #rendered(task: PillarTask, mark: ForgetMark): Promise<Rendered> {
    const { logger } = this.#options;
    try {
      const { pillar, record, faults } = await this.#keepable(task, mark);
      for (const fault of faults) logger.error({ id: task.id, fault }, "a pillar has an error");
      return { pillar, record };
    } catch (error) {
      this.counters.failed += 1;
      logger.error({ id: task.id, err: error }, "a pillar could not be rendered");
      const pillar = new Map<Value, Value>([["_errors", [this.#sentenceFor(error as Error)]]]);
      return { pillar: encode(pillar, "raw"), record: undefined };
    }
  }

  #sentenceFor(error: Error): string {
    const isLate = "code" in error && error.code === "TASK_TIMEOUT";
    if (!isLate) return "Rendering the pillar failed. Please see master log for details.";
    return `Rendering the pillar took longer than pillar_render_timeout (${this.#options.renderTimeoutMs / 1_000} seconds).`;
  }

  /** Has the minion's worker store grains and pillar. Without a record the stored pillar stays. A pillar with a caller's own values is not stored. */
  async #keep(task: PillarTask, record: Uint8Array | undefined): Promise<void> {
    const { pool, partitioner, isKept, fire, logger } = this.#options;
    if (!isKept || task.grains === undefined || task.override !== undefined) return;
    const { id, grains } = task;
    const slot = partitioner.slotOf(id, pool.slotCount);
    try {
      const keeping = { kind: "keepFacts", id, grains, pillar: record };
      await pool.offer(slot, {
        bytes: grains.byteLength + (record?.byteLength ?? 0),
        isUrgent: true,
        build: () => ({ task: keeping, transfer: [] }),
      });
      fire(`minion/refresh/${id}`, { "Minion data cache refresh": id });
    } catch (error) {
      // The minion gets its pillar anyway. Targeting uses the earlier data.
      logger.error({ id, err: error }, "grains and pillar could not be kept");
    }
  }
}

function pledge() {
  let resolve: (pillar: Uint8Array) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Uint8Array>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
