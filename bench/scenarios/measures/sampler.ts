/** Values over time while a scenario runs: the master's memory and, if the master exports them, its queues, waits and rates. */
import type { Series } from "../../results/schema.ts";
import type { MasterSample, MasterUnderTest } from "../setup/master-contract.ts";
import { parseMetrics, type Samples, sumOf } from "./prometheus.ts";
import { usageNow } from "./usage.ts";

/** Interval of samples. One sample costs our master a few milliseconds of CPU: up to 1 % of a core. */
const everyMs = 1_000;
/** Of a load at a given rate, where the samples would be a tenth of what they look at. */
export const pacedSampleMs = 5_000;

type Totals = { readonly atMs: number; readonly waitUs: number; readonly batches: number; readonly returns: number };

export class Sampler {
  readonly #master: MasterUnderTest;
  readonly #startedMs = performance.now();
  readonly #rows: MasterSample[] = [];
  #cpu: { readonly atMs: number; readonly cpuMs: number } | undefined;
  readonly #timer: NodeJS.Timeout;
  #totals: Totals | undefined;
  #look: Promise<void>;
  #isLooking = false;

  constructor(master: MasterUnderTest, sampleMs = everyMs) {
    this.#master = master;
    this.#look = this.#take();
    this.#timer = setInterval(() => {
      // One at a time, so that a master that answers slowly is sampled less often.
      if (!this.#isLooking) this.#look = this.#take();
    }, sampleMs);
  }

  async stop(): Promise<Series> {
    clearInterval(this.#timer);
    await this.#look;
    await this.#take();
    const names = new Set(this.#rows.flatMap(({ values }) => Object.keys(values)));
    const values: Record<string, number[]> = {};
    for (const name of names) values[name] = this.#rows.map((row) => row.values[name] ?? 0);
    return { atMs: this.#rows.map(({ atMs }) => atMs), values };
  }

  async #take(): Promise<void> {
    this.#isLooking = true;
    const samples = await this.#samples();
    const atMs = performance.now() - this.#startedMs;
    const usage = usageNow(this.#master, samples);
    const sample = {
      atMs,
      values: {
        ...(usage && { rssBytes: usage.rssBytes, cpuCores: this.#cores(atMs, usage.cpuMs) }),
        ...(samples && this.#valuesOf(samples, atMs)),
      },
    };
    this.#rows.push(sample);
    this.#master.onSample?.(sample);
    this.#isLooking = false;
  }

  /** Cores that the master used since the last look; 0 at the first one, and after a restart. */
  #cores(atMs: number, cpuMs: number): number {
    const before = this.#cpu;
    const now = { atMs, cpuMs };
    this.#cpu = now;
    if (before === undefined || now.cpuMs < before.cpuMs || now.atMs <= before.atMs) return 0;
    return (now.cpuMs - before.cpuMs) / (now.atMs - before.atMs);
  }

  /** Undefined from a master without metrics, and from one that is down at the moment. */
  async #samples(): Promise<Samples | undefined> {
    if (this.#master.metrics === undefined) return undefined;
    try {
      return parseMetrics(await this.#master.metrics());
    } catch {
      this.#totals = undefined;
      return undefined;
    }
  }

  #valuesOf(samples: Samples, atMs: number): Record<string, number> {
    const totals = {
      atMs,
      waitUs: sumOf(samples, "saltworks_queue_wait_seconds_sum", 'queue="requests"') * 1e6,
      batches: sumOf(samples, "saltworks_queue_wait_seconds_count", 'queue="requests"'),
      returns: sumOf(samples, "saltworks_returns_total", 'outcome="stored"'),
    };
    const before = this.#totals ?? totals;
    this.#totals = totals;
    const batches = totals.batches - before.batches;
    const seconds = (totals.atMs - before.atMs) / 1_000;
    return {
      queueDepth: sumOf(samples, "saltworks_queue_items"),
      authQueueDepth: sumOf(samples, "saltworks_auth_queue_items"),
      queueWaitUs: batches === 0 ? 0 : (totals.waitUs - before.waitUs) / batches,
      returnsPerSecond: seconds === 0 ? 0 : (totals.returns - before.returns) / seconds,
      connected: sumOf(samples, "saltworks_minions", 'state="connected"'),
    };
  }
}
