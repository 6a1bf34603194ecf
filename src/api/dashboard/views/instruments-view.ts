/** The figures of the instruments page, from two readings of wheel `saltworks.metrics`. `saltworks top` shows the same metrics. */

/** A metric's name, its labels and its value. JSON has no infinity, so that a value may be text. */
export type MetricRow = readonly [string, Readonly<Record<string, string>>, number | string];
export type Reading = { readonly rows: readonly MetricRow[]; readonly atMs: number };
type Where = Readonly<Record<string, string>>;

export type Instruments = {
  readonly minions: { readonly connected: number; readonly accepted: number };
  readonly returnsPerSecond: number;
  readonly requestsPerSecond: number;
  readonly eventsPerSecond: number;
  /** Upper bounds of the 99th percentiles' buckets. Null: nothing was measured. */
  readonly waitP99: number | null;
  readonly mainLoopP99: number | null;
  readonly queuedRequests: number;
  readonly queuedBytes: number;
  readonly waitingAuths: number;
  readonly cpuCores: number;
  readonly residentBytes: number;
  readonly workers: readonly WorkerFigures[];
  readonly limits: readonly LimitFigures[];
};
type WorkerFigures = {
  readonly worker: string;
  readonly isStale: boolean;
  readonly cpuShare: number;
  readonly returnsPerSecond: number;
  readonly queued: number;
  readonly heapBytes: number;
  readonly loopP99: number | null;
};
export type LimitFigures = { readonly limit: string; readonly share: number; readonly hits: number };

/** Finds series by name, once for each reading. */
class Series {
  readonly #byName = new Map<string, MetricRow[]>();

  constructor({ rows }: Reading) {
    for (const row of rows) {
      const found = this.#byName.get(row[0]);
      if (found === undefined) this.#byName.set(row[0], [row]);
      else found.push(row);
    }
  }

  rows(name: string, where: Where = {}): readonly MetricRow[] {
    const wanted = Object.entries(where);
    return (this.#byName.get(name) ?? []).filter(([, labels]) => wanted.every(([key, text]) => labels[key] === text));
  }

  sum(name: string, where: Where = {}): number {
    return this.rows(name, where).reduce((total, [, , value]) => total + Number(value), 0);
  }
}

class Growth {
  readonly now: Series;
  readonly #before: Series;
  readonly #seconds: number;

  constructor(before: Reading, now: Reading) {
    this.#before = new Series(before);
    this.now = new Series(now);
    this.#seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000);
  }

  /** A restarted master counts from 0 again, and so does a replaced worker: each series is compared by itself. */
  rate(name: string, where: Where = {}): number {
    return this.#grown(name, where).reduce((total, [, growth]) => total + growth, 0) / this.#seconds;
  }

  p99(name: string, where: Where = {}): number | null {
    const byBound = new Map<number, number>();
    for (const [labels, growth] of this.#grown(`${name}_bucket`, where)) {
      const bound = labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le);
      byBound.set(bound, (byBound.get(bound) ?? 0) + growth);
    }
    const total = byBound.get(Number.POSITIVE_INFINITY) ?? 0;
    const bounds = [...byBound].sort(([left], [right]) => left - right);
    return total === 0 ? null : (bounds.find(([, seen]) => seen >= total * 0.99)?.[0] ?? null);
  }

  #grown(name: string, where: Where): [MetricRow[1], number][] {
    const before = new Map(this.#before.rows(name, where).map(([, labels, value]) => [keyOf(labels), Number(value)]));
    return this.now.rows(name, where).map(([, labels, value]) => {
      const was = before.get(keyOf(labels)) ?? 0;
      return [labels, Number(value) >= was ? Number(value) - was : Number(value)];
    });
  }
}

function keyOf(labels: MetricRow[1]): string {
  return JSON.stringify(labels);
}

export function instrumentsOf(before: Reading, now: Reading): Instruments {
  const growth = new Growth(before, now);
  const series = growth.now;
  return {
    minions: {
      connected: series.sum("saltworks_minions", { state: "connected" }),
      accepted: series.sum("saltworks_minions", { state: "accepted" }),
    },
    returnsPerSecond: growth.rate("saltworks_returns_total"),
    requestsPerSecond: growth.rate("saltworks_frames_received_total"),
    eventsPerSecond: growth.rate("saltworks_events_total"),
    waitP99: growth.p99("saltworks_queue_wait_seconds", { queue: "requests" }),
    mainLoopP99: growth.p99("saltworks_event_loop_delay_seconds", { thread: "main" }),
    queuedRequests: series.sum("saltworks_queue_items"),
    queuedBytes: series.sum("saltworks_queue_bytes"),
    waitingAuths: series.sum("saltworks_auth_queue_items"),
    cpuCores: growth.rate("process_cpu_seconds_total"),
    residentBytes: series.sum("process_resident_memory_bytes"),
    workers: workersOf(growth),
    limits: limitsOf(series),
  };
}

function workersOf(growth: Growth): WorkerFigures[] {
  return growth.now.rows("saltworks_worker_stale").map(([, { worker = "" }, stale]) => {
    const thread = `sw-worker-${worker}`;
    return {
      worker,
      isStale: Number(stale) === 1,
      cpuShare: growth.rate("saltworks_thread_cpu_seconds_total", { thread }),
      returnsPerSecond: growth.rate("saltworks_returns_total", { worker }),
      queued: growth.now.sum("saltworks_queue_items", { worker }),
      heapBytes: growth.now.sum("saltworks_heap_used_bytes", { thread }),
      loopP99: growth.p99("saltworks_event_loop_delay_seconds", { thread }),
    };
  });
}

/** Limits in use, and limits that were reached; the most used first. */
function limitsOf(series: Series): LimitFigures[] {
  const figures = series.rows("saltworks_limit_max").map(([, { limit = "" }, max]) => {
    const share = series.sum("saltworks_limit_used", { limit }) / Number(max);
    return {
      limit,
      share: Number.isFinite(share) ? share : 0,
      hits: series.sum("saltworks_limit_hits_total", { limit }),
    };
  });
  const shown = figures.filter(({ share, hits }) => share >= 0.005 || hits > 0);
  return shown.sort((left, right) => right.hits - left.hits || right.share - left.share);
}
