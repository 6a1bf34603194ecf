/**
 * Measures of a worker's batches: time per stage, items, requests by command and outcome. They are plain numbers here. The main thread
 * gives them their names as metrics when a reader asks.
 */
import { threadId } from "node:worker_threads";
import { Histogram, type HistogramSnapshot, itemsBounds, secondsBounds } from "./histogram.ts";
import { type ThreadMeasures, ThreadMeter } from "./thread-meter.ts";

/** The stages of a batch in its worker. Each item is opened, handled and sealed before the next one. */
export const workerStages = ["open", "handle", "commit", "seal"] as const;
export type WorkerStage = (typeof workerStages)[number];
/** The milliseconds of one batch by stage. Each stage of an item ends with a reading of the clock, which takes 0.05 µs. */
export class StageClock {
  readonly startedMs = performance.now();
  open = 0;
  handle = 0;
  commit = 0;
  seal = 0;
  #lastMs = this.startedMs;

  /** Adds the time since the last lap to `stage`. */
  lap(stage: WorkerStage): void {
    const nowMs = performance.now();
    this[stage] += nowMs - this.#lastMs;
    this.#lastMs = nowMs;
  }

  /** Milliseconds of all stages together. */
  get totalMs(): number {
    return this.#lastMs - this.startedMs;
  }
}

/** `answered`: by the worker. `deferred`: passed to a lane or the main thread. `failed`: the handler threw. */
export const outcomes = ["answered", "deferred", "failed"] as const;
export type Outcome = (typeof outcomes)[number];
export type OutcomeCounts = Record<Outcome, number>;

/** Kinds of values with a limit of size. The largest size of each is recorded. */
export type SizedThing = "return" | "event" | "grains";

/** A worker's answer to the task `measures`. */
export type WorkerMeasures = {
  /** A replacement worker has another id, and its measures start from 0. */
  readonly threadId: number;
  readonly counters: Readonly<Record<string, number>>;
  readonly stages: Readonly<Record<WorkerStage, HistogramSnapshot>>;
  readonly batchItems: HistogramSnapshot;
  readonly requests: Readonly<Record<string, OutcomeCounts>>;
  readonly largest: Readonly<Record<SizedThing, number>>;
  readonly thread: ThreadMeasures;
};

/** Commands that are counted by name. All others count as `other`, because a client may send any text. */
const countedCommands = [
  "_return",
  "_auth",
  "_minion_event",
  "_pillar",
  "_mine",
  "_mine_get",
  "_mine_delete",
  "_mine_flush",
  "_master_opts",
  "_master_tops",
  "_ext_nodes",
  "_file_hash",
  "_file_hash_and_stat",
  "_file_find",
  "_file_list",
  "_file_list_emptydirs",
  "_file_envs",
  "_file_recv",
  "_serve_file",
  "_dir_list",
  "_symlink_list",
  "_syndic_return",
  "minion_pub",
  "minion_publish",
  "minion_runner",
  "pub_ret",
  "revoke_auth",
  "verify_minion",
  "ping",
  "publish",
  "runner",
  "wheel",
  "mk_token",
  "get_token",
] as const;
const otherCommands = "other";

function noOutcomes(): OutcomeCounts {
  return { answered: 0, deferred: 0, failed: 0 };
}

export class BatchMeter {
  readonly #stages: Record<WorkerStage, Histogram>;
  readonly #batchItems = new Histogram(itemsBounds);
  readonly #requests = new Map<string, OutcomeCounts>(countedCommands.map((name) => [name, noOutcomes()]));
  readonly #others = noOutcomes();
  readonly #thread = new ThreadMeter();
  /** Largest size of each kind, bytes. */
  readonly #largest = { return: 0, event: 0, grains: 0 };

  constructor() {
    const seconds = () => new Histogram(secondsBounds);
    this.#stages = { open: seconds(), handle: seconds(), commit: seconds(), seal: seconds() };
  }

  noteRequest(command: string, outcome: Outcome): void {
    const counts = this.#requests.get(command) ?? this.#others;
    counts[outcome] += 1;
  }

  noteSize(thing: SizedThing, bytes: number): void {
    if (bytes > this.#largest[thing]) this.#largest[thing] = bytes;
  }

  noteBatch(itemCount: number, clock: StageClock): void {
    this.#batchItems.observe(itemCount);
    for (const stage of workerStages) this.#stages[stage].observe(clock[stage] / 1_000);
  }

  read(counters: Readonly<Record<string, number>>): WorkerMeasures {
    const seen = [...this.#requests, [otherCommands, this.#others] as const].filter(([, counts]) =>
      outcomes.some((outcome) => counts[outcome] > 0),
    );
    return {
      threadId,
      counters: { ...counters },
      stages: {
        open: this.#stages.open.snapshot(),
        handle: this.#stages.handle.snapshot(),
        commit: this.#stages.commit.snapshot(),
        seal: this.#stages.seal.snapshot(),
      },
      batchItems: this.#batchItems.snapshot(),
      requests: Object.fromEntries(seen.map(([command, counts]) => [command, { ...counts }])),
      largest: { ...this.#largest },
      thread: this.#thread.read(),
    };
  }

  close(): void {
    this.#thread.close();
  }
}
