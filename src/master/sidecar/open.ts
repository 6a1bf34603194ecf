/** Opens the lanes of the site's own Python: one that keeps its processes, and one whose threads render pillars beside it. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { laneTaskTimeoutMs, runnerTaskTimeoutMs, sidecarStartTimeoutMs, sidecarWaitingMax } from "../../limits.ts";
import { servedNames } from "../../sidecar/availability.ts";
import type { PillarStart } from "../../workers/messages/pillar.ts";
import type { SidecarStart } from "../../workers/messages/sidecar.ts";
import type { LanePool, LanePoolOptions } from "../../workers/threads/lane-pool.ts";
import { PythonPillars } from "./python-pillars.ts";
import { SidecarCalls } from "./sidecar-calls.ts";

export type OpenSidecar = {
  readonly calls: SidecarCalls;
  readonly pillars: PythonPillars;
  /** By name, for metrics. */
  readonly lanes: Readonly<Record<"sidecar" | "python_pillar", LanePool>>;
  readonly close: () => Promise<unknown>;
};

/** How the master opens a lane. */
export type LaneOpening = {
  readonly logger: Logger;
  readonly heap: LanePoolOptions["heap"];
  readonly openLane: (
    logger: Logger,
    lane: Pick<LanePoolOptions, "filename" | "heap" | "taskTimeoutMs" | "workerData"> & Partial<LanePoolOptions>,
  ) => LanePool;
};

/** Starts nothing yet. @returns undefined if the configuration forbids Python */
export function openSidecar(
  config: MasterConfig,
  environment: SidecarStart["environment"],
  { logger, openLane, heap }: LaneOpening,
): OpenSidecar | undefined {
  if (config.salt_python === false) return undefined;
  const lane = openLane(logger, {
    filename: new URL("../../workers/lanes/sidecar-lane.js", import.meta.url).href,
    heap,
    // Two groups of processes, whose queues are bounded themselves.
    concurrentTasksPerThread: 2 * (config.salt_python_processes + sidecarWaitingMax),
    taskTimeoutMs: runnerTaskTimeoutMs + sidecarStartTimeoutMs + laneTaskTimeoutMs,
    // The processes end with the thread.
    threadsKept: 0,
    idleMs: sidecarThreadIdleMs,
    workerData: { config, environment: { ...environment } } satisfies SidecarStart,
  });
  const pillarLane = openLane(logger, {
    filename: new URL("../../workers/lanes/pillar-lane.js", import.meta.url).href,
    heap,
    threadCount: config.salt_python_processes,
    // Python has deadlines of its own; this one ends a thread that hangs.
    taskTimeoutMs: (config.pillar_render_timeout + config.ext_pillar_timeout) * 1_000 + sidecarStartTimeoutMs,
    workerData: { config } satisfies PillarStart,
  });
  const calls = new SidecarCalls({ config, lane, logger });
  const pillars = new PythonPillars({
    ...{ sidecar: calls, lane: pillarLane, threadCount: config.salt_python_processes },
    isAlwaysNeeded: servedNames(config, "pillar").length > 0,
  });
  const close = () => Promise.all([lane.close(), pillarLane.close()]);
  return { calls, pillars, lanes: { sidecar: lane, python_pillar: pillarLane }, close };
}

/** Longer than any Python process stays idle. */
const sidecarThreadIdleMs = 3_600_000;
