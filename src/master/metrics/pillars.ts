/** Metrics of pillars, of the commands of external sources, and of the pillar cache. */
import type { MasterConfig } from "../../config/load.ts";
import { pillarCacheMemoryBytesMax } from "../../limits.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Pillars } from "../pillars/pillars.ts";
import type { Samples } from "./samples.ts";

type Limit = (name: string, used: number, max: number, hits: number | undefined) => void;
type PillarParts = { readonly config: MasterConfig; readonly lane: Pick<LanePool, "counters"> | undefined };

export function samplePillars(samples: Samples, pillars: Pillars): void {
  for (const outcome of ["rendered", "shared", "failed", "refused"] as const) {
    samples.set("saltworks_pillars_total", { outcome }, pillars.counters[outcome]);
  }
  samples.set("saltworks_pillars_waiting", {}, pillars.waitingCount);
  samples.histogram("saltworks_pillar_seconds", { part: "wait" }, pillars.times.wait);
  samples.histogram("saltworks_pillar_seconds", { part: "render" }, pillars.times.render);
  samples.histogram("saltworks_pillar_seconds", { part: "sources" }, pillars.times.sources);
  for (const outcome of ["ended", "failed", "timeout", "tooLarge"] as const) {
    samples.set("saltworks_pillar_commands_total", { outcome }, pillars.commandCounters[outcome]);
  }
  for (const [source, { read, failed, seconds }] of pillars.sourceCounts.entries()) {
    samples.set("saltworks_pillar_sources_total", { source, outcome: "read" }, read);
    samples.set("saltworks_pillar_sources_total", { source, outcome: "failed" }, failed);
    samples.set("saltworks_pillar_source_seconds_total", { source }, seconds);
  }
  samples.set("saltworks_pillar_commands_running", {}, pillars.commandsRunning);
  for (const outcome of ["hits", "misses", "forgotten", "unkept"] as const) {
    samples.set("saltworks_pillar_cache_total", { outcome }, pillars.kept.counters[outcome]);
  }
}

export function samplePillarLimits(limit: Limit, pillars: Pillars, parts: PillarParts): void {
  const { config, lane } = parts;
  limit(
    "pillar_render_timeout",
    pillars.times.slowestSeconds,
    config.pillar_render_timeout,
    lane?.counters.timeouts ?? 0,
  );
  limit(
    "ext_pillar_timeout",
    pillars.times.slowestSourcesSeconds,
    config.ext_pillar_timeout,
    pillars.commandCounters.timeout,
  );
  limit("ext_pillar_commands", pillars.commandsRunning, config.ext_pillar_commands, undefined);
  limit("pillarCacheMemoryBytesMax", pillars.kept.memoryBytes, pillarCacheMemoryBytesMax, undefined);
}
