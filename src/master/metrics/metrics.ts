/** Reads the metrics of the main thread and the workers, for the HTTP endpoint and for `saltworks top`. Simultaneous clients share one reading. */
import { metricsWorkerTimeoutMs } from "../../limits.ts";
import type { Encodable } from "../../wire/values.ts";
import { LaneMeasuresReader } from "../../workers/measures/lane-measures.ts";
import type { WorkerMeasures } from "../../workers/measures/measures.ts";
import { ThreadMeter } from "../../workers/measures/thread-meter.ts";
import type { TextForm } from "../ports/metrics-server.ts";
import { Samples } from "./samples.ts";
import { type MeteredParts, sampleLimits, sampleMain, sampleThread, sampleWorker } from "./sources.ts";
import { ThreadCpu } from "./threads.ts";
import { WorkerReader } from "./workers.ts";

export class Metrics {
  readonly #parts: MeteredParts;
  readonly #workers: WorkerReader;
  readonly #lanes = new LaneMeasuresReader();
  readonly #mainThread = new ThreadMeter();
  readonly #threadCpu = new ThreadCpu();
  readonly #sources: ((samples: Samples) => void)[] = [];
  #underWay: Promise<Samples> | undefined;

  constructor(parts: MeteredParts, onFault: (error: Error) => void) {
    this.#parts = parts;
    this.#workers = new WorkerReader({
      slotCount: parts.pool.slotCount,
      ask: (slot) =>
        parts.pool.offer<WorkerMeasures>(slot, {
          bytes: 0,
          isUrgent: true,
          build: () => ({ task: { kind: "measures" }, transfer: [] }),
        }),
      timeoutMs: metricsWorkerTimeoutMs,
      onFault,
    });
  }

  /** Adds what is counted only by some masters, such as members of a cluster. */
  addSource(source: (samples: Samples) => void): void {
    this.#sources.push(source);
  }

  async text(form: TextForm): Promise<string> {
    return (await this.#look()).text(form);
  }

  /** Rows of name, labels and value. */
  async rows(): Promise<Encodable> {
    return (await this.#look()).rows();
  }

  close(): void {
    this.#lanes.close();
    this.#mainThread.close();
  }

  #look(): Promise<Samples> {
    this.#underWay ??= this.#gather().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #gather(): Promise<Samples> {
    const { lanes, publishFront } = this.#parts;
    const laneThreads = Object.values(lanes).reduce((sum, lane) => sum + lane.threadsUp, 0);
    const [readings, ofLanes] = await Promise.all([
      this.#workers.read(),
      // The publish thread answers along with the threads of the lanes.
      this.#lanes.read(laneThreads + 1, metricsWorkerTimeoutMs),
      publishFront.look(metricsWorkerTimeoutMs),
    ]);
    const samples = new Samples();
    sampleMain(samples, this.#parts);
    for (const source of this.#sources) source(samples);
    for (const [thread, seconds] of this.#threadCpu.read()) {
      samples.set("saltworks_thread_cpu_seconds_total", { thread }, seconds);
    }
    sampleThread(samples, "main", this.#mainThread.read());
    for (const [thread, measures] of ofLanes) sampleThread(samples, thread, measures);
    for (const [slot, { isStale, measures }] of readings.entries()) {
      const worker = String(slot);
      samples.set("saltworks_worker_stale", { worker }, isStale ? 1 : 0);
      if (measures !== undefined) sampleWorker(samples, worker, measures);
    }
    const known = readings.flatMap(({ measures }) => (measures === undefined ? [] : [measures]));
    sampleLimits(samples, this.#parts, known, this.#workers.formerCounters);
    return samples;
  }
}
