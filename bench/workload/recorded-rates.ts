/** What a Saltworks master's metrics tell of its requests: rates by command between two looks. */
import { setTimeout as wait } from "node:timers/promises";
import { parseMetrics, type Samples, sumOf } from "../scenarios/measures/prometheus.ts";
import { readMetrics } from "../scenarios/setup/running-master.ts";

/** Requests a second. `connected`: minions. */
export type RecordedRates = {
  readonly seconds: number;
  readonly connected: number;
  readonly returns: number;
  readonly events: number;
  readonly mines: number;
  readonly mineReads: number;
  readonly pillars: number;
  readonly files: number;
  readonly auths: number;
};

export async function recordRates(url: string, seconds: number, signal: AbortSignal): Promise<RecordedRates> {
  const startedMs = performance.now();
  const before = parseMetrics(await readMetrics(url));
  await wait(seconds * 1_000, undefined, { signal });
  const after = parseMetrics(await readMetrics(url));
  const spanSeconds = (performance.now() - startedMs) / 1_000;
  const rate = (name: string, label = ""): number => between(before, after, name, label) / spanSeconds;
  const commands = (...names: readonly string[]): number =>
    names.reduce((sum, name) => sum + rate("saltworks_requests_total", `command="${name}"`), 0);
  return {
    seconds: spanSeconds,
    connected: sumOf(after, "saltworks_minions", 'state="connected"'),
    returns: commands("_return"),
    events: commands("_minion_event"),
    mines: commands("_mine"),
    mineReads: commands("_mine_get"),
    pillars: commands("_pillar"),
    files: commands("_serve_file", "_file_hash", "_file_hash_and_stat", "_file_find", "_file_list"),
    auths: rate("saltworks_auths_received_total"),
  };
}

/** At least 0: a restart of the master between the looks begins its counters anew. */
function between(before: Samples, after: Samples, name: string, label: string): number {
  return Math.max(0, sumOf(after, name, label) - sumOf(before, name, label));
}
