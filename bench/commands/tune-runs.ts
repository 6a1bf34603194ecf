/** One run of the return storm for the tuner: with a fresh master, or taken from an earlier tuning with the same settings and load. */
import type { Progress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { machineFingerprint, thisTool } from "../machine.ts";
import { type ParameterValues, type Point, type RunResult, resultSchema } from "../results/schema.ts";
import { readParameters, runScenario } from "../scenarios/run.ts";
import { knobs } from "../tune/settings.ts";
import type { Measurement } from "../tune/tuner.ts";
import { findScenario } from "./run-request.ts";

const tuned: ReadonlySet<string> = new Set(["worker_threads", ...knobs.map(({ name }) => name)]);
const scenarioName = "return-storm";
/** Raised when points can no longer be compared with those of an earlier tuning. */
const tuneVersion = 1;
/** Shorter than the scenario's own: a tuning makes dozens of runs. */
const whole: ParameterValues = { minions: 1_000, returns: 40, warmUp: 15, seconds: 10 };
const quick: ParameterValues = { minions: 300, returns: 60, warmUp: 40, seconds: 4 };

/** All parameters of the storms except the rate, which the tuner chooses. */
export function tuneParameters(given: ParameterValues, isQuick: boolean): ParameterValues {
  const { rate, ...parameters } = readParameters(findScenario(scenarioName), {
    ...(isQuick ? quick : whole),
    ...given,
  });
  if (given.rate !== undefined)
    throw new SaltworksError("USAGE", "tune chooses the rate itself; --set rate means nothing");
  return parameters;
}

export function emptyTuneResult(storm: ParameterValues, tuning: ParameterValues): RunResult {
  const tool = thisTool();
  return {
    schema: resultSchema,
    startedAt: new Date().toISOString(),
    tool,
    machine: machineFingerprint(),
    scenario: {
      name: "tune",
      version: tuneVersion,
      question:
        "Which worker_threads and batch limits suit this machine, and which rate of returns does it carry with them?",
      parameters: { ...storm, ...tuning, stormVersion: findScenario(scenarioName).version },
    },
    master: { kind: "saltworks", version: tool.version, config: {} },
    points: [],
  };
}

export class StormMeasurer {
  readonly #parameters: ParameterValues;
  readonly #progress: Progress;
  readonly #signal: AbortSignal;
  readonly #earlier: ReadonlyMap<string, Point>;
  /** Of the first master, without the options that the tuner changes; undefined before it has run. */
  settings: Record<string, unknown> | undefined;

  constructor(o: {
    readonly parameters: ParameterValues;
    readonly progress: Progress;
    readonly signal: AbortSignal;
    readonly earlier: readonly Point[];
  }) {
    this.#parameters = o.parameters;
    this.#progress = o.progress;
    this.#signal = o.signal;
    this.#earlier = new Map(o.earlier.map((point) => [keyOf(point.parameters), point]));
  }

  /** @throws what the run throws; an AbortError after the signal */
  async measure({ label, step, settings, rate, repeat }: Measurement): Promise<Point> {
    this.#signal.throwIfAborted();
    const about = { ...settings, step, repeat, rate: rate ?? 0 };
    const before = this.#earlier.get(keyOf(about));
    if (before !== undefined) return before;
    const { points, master } = await runScenario({
      scenario: scenarioName,
      parameters: { ...this.#parameters, rate: rate ?? 0 },
      master: { kind: "saltworks", config: { ...settings } },
      progress: this.#progress,
      signal: this.#signal,
    });
    this.#signal.throwIfAborted();
    const fixed = Object.entries(master.settings ?? {}).filter(([name]) => !tuned.has(name));
    this.settings ??= Object.fromEntries(fixed);
    const [point] = points;
    if (point === undefined) throw new SaltworksError("FUNCTION_FAILED", "the storm left no point");
    return { ...point, label, parameters: about };
  }
}

/** Identifies the run of a point: the settings, the load, and the number of the repeat. */
function keyOf(parameters: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(parameters).sort(([a], [b]) => a.localeCompare(b)));
}
