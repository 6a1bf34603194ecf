/** The numbers of `saltworks top`, computed from two snapshots of the metrics. `--json` prints them unchanged. */
import type { MetricName } from "../../master/metrics/table.ts";
import { type ClusterView, clusterViewOf } from "./cluster-view.ts";
import type { Change } from "./snapshot.ts";

/** Times are in seconds, shares are of one core or of a limit. `p99`: upper bound of the 99th percentile's bucket; null if nothing was observed. */
export type View = {
  readonly upSeconds: number;
  readonly minions: { readonly connected: number; readonly accepted: number };
  readonly cpuCores: number;
  readonly residentBytes: number;
  readonly requestsPerSecond: number;
  readonly returnsPerSecond: number;
  readonly commitsPerSecond: number;
  readonly batchesPerSecond: number;
  readonly requestsPerBatch: number | null;
  readonly queue: { readonly requests: number; readonly bytes: number; readonly waitP99: number | null };
  readonly auths: {
    readonly waiting: number;
    readonly waitP99: number | null;
    readonly droppedPerSecond: number;
    readonly perSecond: Readonly<Record<string, number>>;
  };
  readonly events: { readonly perSecond: number; readonly subscribers: number; readonly dropped: number };
  readonly jobsPerSecond: number;
  readonly pillars: {
    readonly waiting: number;
    readonly renderP99: number | null;
    readonly perSecond: Readonly<Record<string, number>>;
  };
  readonly stages: readonly StageView[];
  readonly commands: readonly CommandView[];
  readonly refusalsPerSecond: Readonly<Record<string, number>>;
  readonly workers: readonly WorkerView[];
  readonly mainLoopDelayP99: number | null;
  readonly threads: readonly { readonly thread: string; readonly cpuShare: number }[];
  readonly limits: readonly LimitView[];
  /** Only of a member of a cluster. */
  readonly cluster?: ClusterView;
};
export type StageView = {
  readonly stage: string;
  readonly secondsPerRequest: number | null;
  readonly batchP99: number | null;
};
export type CommandView = {
  readonly command: string;
  readonly answered: number;
  readonly deferred: number;
  readonly failed: number;
};
export type WorkerView = {
  readonly worker: string;
  readonly isStale: boolean;
  readonly cpuShare: number;
  readonly busyShare: number | null;
  readonly requestsPerSecond: number;
  readonly returnsPerSecond: number;
  readonly queued: number;
  readonly heapBytes: number;
  readonly loopDelayP99: number | null;
};
export type LimitView = {
  readonly limit: string;
  readonly share: number;
  readonly max: number;
  readonly hits: number;
  readonly newHits: number;
};

/** The stages of a request, in their order. */
const stages = ["wait", "open", "handle", "commit", "seal", "reply"];

export function viewOf(change: Change): View {
  const { now } = change;
  const cluster = clusterViewOf(now);
  const batches = change.growth("saltworks_batch_items", {}, "count");
  const items = change.growth("saltworks_batch_items", {}, "sum");
  const byLabel = <Name extends MetricName>(name: Name, label: string): Record<string, number> =>
    Object.fromEntries(
      now.valuesOf(name, label as never).map((value) => [value, change.rate(name, { [label]: value } as never)]),
    );
  return {
    upSeconds: Math.max(0, Date.now() / 1_000 - now.sum("process_start_time_seconds")),
    minions: {
      connected: now.sum("saltworks_minions", { state: "connected" }),
      accepted: now.sum("saltworks_minions", { state: "accepted" }),
    },
    cpuCores: change.rate("process_cpu_seconds_total"),
    residentBytes: now.sum("process_resident_memory_bytes"),
    requestsPerSecond: change.rate("saltworks_frames_received_total"),
    returnsPerSecond: change.rate("saltworks_returns_total"),
    commitsPerSecond: change.rate("saltworks_commits_total"),
    batchesPerSecond: change.rate("saltworks_batch_items", {}, "count"),
    requestsPerBatch: batches === 0 ? null : items / batches,
    queue: {
      requests: now.sum("saltworks_queue_items"),
      bytes: now.sum("saltworks_queue_bytes"),
      waitP99: change.quantile("saltworks_queue_wait_seconds", 0.99, { queue: "requests" }) ?? null,
    },
    auths: {
      waiting: now.sum("saltworks_auth_queue_items"),
      waitP99: change.quantile("saltworks_queue_wait_seconds", 0.99, { queue: "auths" }) ?? null,
      droppedPerSecond: change.rate("saltworks_auths_dropped_total"),
      perSecond: byLabel("saltworks_auths_total", "result"),
    },
    events: {
      perSecond: change.rate("saltworks_events_total"),
      subscribers: now.sum("saltworks_event_subscribers"),
      dropped: now.sum("saltworks_events_dropped_total"),
    },
    jobsPerSecond: change.rate("saltworks_jobs_total", { outcome: "published" }),
    pillars: {
      waiting: now.sum("saltworks_pillars_waiting"),
      renderP99: change.quantile("saltworks_pillar_seconds", 0.99, { part: "render" }) ?? null,
      perSecond: byLabel("saltworks_pillars_total", "outcome"),
    },
    stages: stages.map((stage) => ({
      stage,
      secondsPerRequest: items === 0 ? null : change.growth("saltworks_stage_seconds", { stage }, "sum") / items,
      batchP99: change.quantile("saltworks_stage_seconds", 0.99, { stage }) ?? null,
    })),
    commands: commandsOf(change),
    refusalsPerSecond: byLabel("saltworks_refusals_total", "reason"),
    workers: workersOf(change),
    mainLoopDelayP99: change.quantile("saltworks_event_loop_delay_seconds", 0.99, { thread: "main" }) ?? null,
    threads: threadsOf(change),
    limits: limitsOf(change),
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function commandsOf(change: Change): CommandView[] {
  const name = "saltworks_requests_total";
  return change.now.valuesOf(name, "command").map((command) => ({
    command,
    answered: change.rate(name, { command, outcome: "answered" }),
    deferred: change.rate(name, { command, outcome: "deferred" }),
    failed: change.rate(name, { command, outcome: "failed" }),
  }));
}

function workersOf(change: Change): WorkerView[] {
  const { now } = change;
  return now.valuesOf("saltworks_worker_stale", "worker").map((worker) => {
    const thread = `sw-worker-${worker}`;
    const busy = change.growth("saltworks_event_loop_busy_seconds_total", { thread });
    const idle = change.growth("saltworks_event_loop_idle_seconds_total", { thread });
    return {
      worker,
      isStale: now.sum("saltworks_worker_stale", { worker }) === 1,
      cpuShare: change.rate("saltworks_thread_cpu_seconds_total", { thread }),
      busyShare: busy + idle === 0 ? null : busy / (busy + idle),
      requestsPerSecond: change.rate("saltworks_batch_items", { worker }, "sum"),
      returnsPerSecond: change.rate("saltworks_returns_total", { worker }),
      queued: now.sum("saltworks_queue_items", { worker }),
      heapBytes: now.sum("saltworks_heap_used_bytes", { thread }),
      loopDelayP99: change.quantile("saltworks_event_loop_delay_seconds", 0.99, { thread }) ?? null,
    };
  });
}

/** Threads, busiest first. */
function threadsOf(change: Change): View["threads"] {
  const name = "saltworks_thread_cpu_seconds_total";
  const threads = change.now.valuesOf(name, "thread");
  return threads
    .map((thread) => ({ thread, cpuShare: change.rate(name, { thread }) }))
    .sort((left, right) => right.cpuShare - left.cpuShare);
}

/** Limits, the most used first. */
function limitsOf(change: Change): LimitView[] {
  const { now } = change;
  const limits = now.valuesOf("saltworks_limit_max", "limit").map((limit) => {
    const max = now.sum("saltworks_limit_max", { limit });
    return {
      limit,
      share: now.sum("saltworks_limit_used", { limit }) / max,
      max,
      hits: now.sum("saltworks_limit_hits_total", { limit }),
      newHits: change.growth("saltworks_limit_hits_total", { limit }),
    };
  });
  return limits.sort((left, right) => right.newHits - left.newHits || right.share - left.share);
}
