/** Makes the part that answers questions for pillars from the master's other parts. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { waitsOf } from "../../pillar/external/merge-sources.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Bus } from "../ports/bus.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import { Pillars } from "./pillars.ts";

export function pillarsOf(parts: {
  readonly config: MasterConfig;
  readonly pillars: LanePool;
  readonly sources: LanePool;
  readonly rsa: LanePool;
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  readonly bus: Pick<Bus, "fire">;
  readonly logger: Logger;
  readonly sidecar: OpenSidecar | undefined;
}): Pillars {
  const { config, pillars, sources, rsa, pool, partitioner, bus, logger, sidecar } = parts;
  const waits = waitsOf(pillarSettings(config));
  return new Pillars({
    lane: pillars,
    threadCount: config.pillar_threads,
    sources: waits.isWaiting ? sources : undefined,
    sourcesNeedGrains: waits.needsGrains,
    sourcesMax: config.ext_pillar_commands,
    python: sidecar?.pillars,
    cache: {
      isOn: config.pillar_cache,
      backend: config.pillar_cache_backend,
      ttlMs: config.pillar_cache_ttl * 1_000,
      followsSaltenv: config.pillarenv_from_saltenv,
    },
    rsa,
    pool,
    partitioner,
    isKept: config.minion_data_cache,
    renderTimeoutMs: config.pillar_render_timeout * 1_000,
    fire: (tag, data) => bus.fire(tag, data),
    logger,
  });
}
