/** Runs the short scenarios of a calibration on this machine, each with a master of its own. */
import { availableParallelism } from "node:os";
import { machineFingerprint, thisTool } from "../machine.ts";
import type { ParameterValues } from "../results/schema.ts";
import { runScenario } from "../scenarios/run.ts";
import type { Progress } from "../scenarios/scenario.ts";
import { type Calibration, type CalibrationRun, calibrationSchema } from "./calibration.ts";
import { measureSpeed } from "./speed.ts";

type Step = { readonly scenario: string; readonly parameters: (seconds: number) => ParameterValues };

const storm = { minions: 300, warmUp: 10, isFollowed: true, arrivals: "poisson" } as const;
/** Classes of a mixed day that a step leaves out. */
const quiet = {
  minions: 300,
  mineRate: 0,
  eventRate: 0,
  pillarRate: 0,
  authRate: 0,
  returnBytes: "64",
  warmUp: 5,
  warmSeconds: 0,
} as const;

/** Rates and sizes are far apart, because a law says little outside them. `seconds`: of the longer spans. */
const steps: readonly Step[] = [
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 30, seconds }) },
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 150, seconds }) },
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 600, seconds }) },
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 2_000, seconds }) },
  // A number of small returns whose growth shows.
  { scenario: "return-storm", parameters: () => ({ ...storm, returns: 480 }) },
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 150, seconds, returnBytes: "4096" }) },
  {
    scenario: "return-storm",
    parameters: (seconds) => ({ ...storm, rate: 100, seconds, returnBytes: "lognormal:14000:1" }),
  },
  { scenario: "return-storm", parameters: (seconds) => ({ ...storm, rate: 40, seconds, returnBytes: "131072" }) },
  // So long that most of it is not spent on the master's start.
  { scenario: "idle-hold", parameters: (seconds) => ({ minions: 100, seconds: 8 * seconds, jobs: 1, bare: false }) },
  { scenario: "idle-hold", parameters: (seconds) => ({ minions: 1_000, seconds: 2 * seconds, jobs: 1, bare: false }) },
  { scenario: "idle-hold", parameters: (seconds) => ({ minions: 4_000, seconds: 2 * seconds, jobs: 1, bare: false }) },
  { scenario: "auth-storm", parameters: () => ({ minions: 300, rounds: 2, warmUp: 1 }) },
  { scenario: "ping-all", parameters: () => ({ minions: 300, publishes: 8, warmUp: 5 }) },
  { scenario: "ping-all", parameters: () => ({ minions: 1_500, publishes: 4, warmUp: 2 }) },
  // Longer: the first hundreds of pillars and authentications cost several times as much, until their code is optimized.
  {
    scenario: "mixed-day",
    parameters: (seconds) => ({ ...quiet, returnRate: 30, pillarRate: 15, seconds: 4 * seconds }),
  },
  {
    scenario: "mixed-day",
    parameters: (seconds) => ({ ...quiet, returnRate: 30, authRate: 15, seconds: 3 * seconds }),
  },
  {
    scenario: "mixed-day",
    parameters: () => ({ ...quiet, minions: 4_000, connections: 400, returnRate: 400, pillarRate: 40, seconds: 10 }),
  },
  { scenario: "mixed-day", parameters: (seconds) => ({ ...quiet, returnRate: 30, eventRate: 150, seconds }) },
  { scenario: "mixed-day", parameters: (seconds) => ({ ...quiet, returnRate: 30, mineRate: 80, seconds }) },
  // More minions than connections: what the master keeps of a minion, and of a connection.
  {
    scenario: "mixed-day",
    parameters: () => ({ ...quiet, minions: 4_000, connections: 400, returnRate: 400, warmUp: 1, seconds: 10 }),
  },
  // The light load of a small fleet, long after the master's start.
  {
    scenario: "mixed-day",
    parameters: (seconds) => ({ ...quiet, returnRate: 10, eventRate: 10, seconds: 8 * seconds }),
  },
  {
    scenario: "mixed-day",
    parameters: (seconds) => ({
      ...quiet,
      ...{
        returnRate: 300,
        returnBytes: "lognormal:4000:1",
        eventRate: 50,
        mineRate: 20,
        pillarRate: 10,
        authRate: 10,
      },
      seconds,
    }),
  },
  {
    scenario: "mixed-day",
    parameters: (seconds) => ({
      ...quiet,
      ...{
        minions: 1_500,
        returnRate: 100,
        returnBytes: "lognormal:14000:1",
        eventRate: 20,
        mineRate: 5,
        pillarRate: 5,
      },
      authRate: 2,
      seconds,
    }),
  },
];

/** The scenarios' minions do not answer presence pings, so that masters would go on asking. */
export const withoutPings = { presence_timeout: 86_400 } as const;

/** The spans of all steps, some 33 times this, take two thirds of a calibration. Starting masters and fleets takes the rest. */
const secondsPerMinute = 1.2;
const secondsLeast = 4;

export async function calibrate(o: {
  readonly minutes: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Gets what is measured so far after each run. */
  readonly onRun: (calibration: Calibration) => void;
}): Promise<Calibration> {
  const startedAt = new Date().toISOString();
  const machine = machineFingerprint();
  const runs: CalibrationRun[] = [];
  const seconds = Math.max(secondsLeast, Math.round(o.minutes * secondsPerMinute));
  const speed = measureSpeed();
  // As the master chooses without the option.
  const workers = Math.max(1, Math.min(5, availableParallelism() - 1));
  const head = { schema: calibrationSchema, startedAt, tool: thisTool(), machine, workers, speed } as const;
  const phase = o.progress.phase("calibration", steps.length);
  try {
    for (const { scenario, parameters } of steps) {
      const { points, scenario: ran } = await runScenario({
        ...{ scenario, parameters: parameters(seconds), progress: o.progress, signal: o.signal },
        master: { kind: "saltworks", workers, config: withoutPings },
      });
      runs.push(...points.map((point) => ({ scenario, minions: Number(ran.parameters.minions), point })));
      o.onRun({ ...head, runs });
      phase.step();
    }
  } finally {
    phase.end();
  }
  return { ...head, runs };
}
