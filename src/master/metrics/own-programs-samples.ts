/** Samples the metrics of programs beside the master. */
import { pythonPillarsWaitingMax, sidecarWaitingMax } from "../../limits.ts";
import type { Publisher } from "../publish/publisher.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import type { GitUpdates } from "../upkeep/git-updates.ts";
import type { Limit } from "./push-limits.ts";
import type { Samples } from "./samples.ts";

/** The parts that count what programs beside the master do. */
export type MeteredPrograms = {
  /** Starts of the HTTP API after its first; undefined if no program watches one. */
  readonly apiRestarts: (() => number) | undefined;
  readonly gitUpdates: Pick<GitUpdates, "counters">;
  readonly sidecar: Pick<OpenSidecar, "calls" | "pillars"> | undefined;
  /** Only on a member of a cluster. */
  readonly sharing: { readonly counts: () => SharingCounts } | undefined;
};

/** What a member of a cluster shares of its minions. `minionsOf`: minions that are connected to other members. */
export type SharingCounts = {
  readonly minionsOf: ReadonlyMap<string, number>;
  readonly presence: Readonly<Record<string, number>>;
  readonly data: Readonly<Record<string, number>>;
  readonly waiting: number;
};

export function sampleOwnPrograms(samples: Samples, parts: MeteredPrograms): void {
  const { apiRestarts, gitUpdates, sidecar, sharing } = parts;
  if (sharing !== undefined) sampleSharing(samples, sharing.counts());
  samples.set("saltworks_api_restarts_total", {}, apiRestarts?.() ?? 0);
  for (const [outcome, count] of Object.entries(gitUpdates.counters))
    samples.set("saltworks_git_fetches_total", { outcome }, count);
  const { counters, running, waiting } = sidecar?.calls.state ?? {};
  samples.set("saltworks_sidecar_requests_total", { outcome: "asked" }, counters?.requests ?? 0);
  samples.set("saltworks_sidecar_requests_total", { outcome: "failed" }, counters?.failed ?? 0);
  samples.set("saltworks_sidecar_requests_total", { outcome: "timeout" }, counters?.timeouts ?? 0);
  samples.set("saltworks_sidecar_requests_total", { outcome: "refused" }, counters?.refused ?? 0);
  samples.set("saltworks_sidecar_processes", {}, running ?? 0);
  samples.set("saltworks_sidecar_waiting", {}, waiting ?? 0);
  samples.set("saltworks_sidecar_processes_total", { what: "started" }, counters?.started ?? 0);
  samples.set("saltworks_sidecar_processes_total", { what: "lost" }, counters?.lost ?? 0);
  for (const outcome of ["rendered", "refused"] as const)
    samples.set("saltworks_sidecar_pillars_total", { outcome }, sidecar?.pillars.counters[outcome] ?? 0);
}

function sampleSharing(samples: Samples, { minionsOf, presence, data, waiting }: SharingCounts): void {
  for (const [member, count] of minionsOf) samples.set("saltworks_cluster_minions", { member }, count);
  for (const [what, count] of Object.entries(presence))
    samples.set("saltworks_cluster_presence_total", { what }, count);
  for (const [outcome, count] of Object.entries(data))
    samples.set("saltworks_cluster_minion_data_total", { outcome }, count);
  samples.set("saltworks_cluster_minion_data_waiting", {}, waiting);
}

export function sampleSidecarLimits(limit: Limit, sidecar: MeteredPrograms["sidecar"]): void {
  const { counters, waiting } = sidecar?.calls.state ?? {};
  limit("sidecarWaitingMax", waiting ?? 0, sidecarWaitingMax, counters?.refused ?? 0);
  const { waitingCount = 0, counters: pillars } = sidecar?.pillars ?? {};
  limit("pythonPillarsWaitingMax", waitingCount, pythonPillarsWaitingMax, pillars?.refused ?? 0);
}

export function sampleClusterJobs(samples: Samples, { sequenceCounters }: Pick<Publisher, "sequenceCounters">): void {
  if (sequenceCounters === undefined) return;
  const { lag, ...outcomes } = sequenceCounters;
  for (const [outcome, count] of Object.entries(outcomes))
    samples.set("saltworks_cluster_jobs_total", { outcome }, count);
  samples.set("saltworks_cluster_jobs_behind", {}, lag);
}
