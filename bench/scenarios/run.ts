/** Runs one scenario against one master: starts it, lets the scenario measure, and puts the result together. */
import { SaltworksError } from "../../src/errors.ts";
import type { StormHost } from "../fleet/storm/host.ts";
import { machineFingerprint, thisTool } from "../machine.ts";
import { ownMasterHost } from "../master-process.ts";
import {
  type MachineFingerprint,
  type ParameterValue,
  type ParameterValues,
  type Point,
  type RunResult,
  resultSchema,
} from "../results/schema.ts";
import { withClusterFigures } from "./measures/cluster-figures.ts";
import { liveLine } from "./measures/live-line.ts";
import { scenarioNamed } from "./registry.ts";
import type { Progress, Scenario, ScenarioContext } from "./scenario.ts";
import { withOneTaker } from "./setup/cluster-under-test.ts";
import { effectiveSettings } from "./setup/effective-settings.ts";
import type { MasterUnderTest } from "./setup/master-contract.ts";
import { type MasterChoice, masterConfigOf, startMaster } from "./setup/master-under-test.ts";
import { checkParameters } from "./setup/parameter-checks.ts";

export type RunOptions = {
  /** A scenario, or the name of one of the bench's own. */
  readonly scenario: string | Scenario<ParameterValues>;
  /** Parameters that differ from the defaults. A text is parsed as the default's type. */
  readonly parameters?: ParameterValues;
  readonly master: MasterChoice;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Hosts of the load's processes; default: this one. */
  readonly agents?: readonly StormHost[];
};

/** @throws SaltworksError USAGE for an unknown scenario or parameter, and what its run throws */
export async function runScenario(options: RunOptions): Promise<RunResult> {
  const run = await beginRun(options, options.master.running?.host);
  const config = configOf(run, options.master);
  const phase = options.progress.phase(
    options.master.running === undefined ? `start ${options.master.kind}` : "reach the master",
  );
  const master = await startMaster(options.master, config, options.signal).finally(() => phase.end());
  master.onSample = (sample) => options.progress.note?.(liveLine(sample));
  try {
    options.signal.throwIfAborted();
    const settings = await effectiveSettings(master);
    const points = await pointsOf(run, master, options);
    return resultOf(run, master, { config, ...(settings && { settings }) }, withUsage(master, points));
  } finally {
    await master.remove();
  }
}

/** Of a cluster a second run follows, in which all minions return to one member. */
export async function pointsOf(
  { scenario, parameters }: RunHead,
  master: MasterUnderTest,
  options: Pick<RunOptions, "progress" | "signal" | "agents">,
): Promise<Point[]> {
  const runOn = (one: MasterUnderTest) => scenario.run(contextOf(one, parameters, options));
  if (master.cluster === undefined) return await runOn(master);
  const oneTaker = withOneTaker(master, master.cluster);
  const points = await withClusterFigures(master, () => runOn(master));
  const more = await withClusterFigures(oneTaker, () => runOn(oneTaker));
  return [...points, ...more.map((point) => ({ ...point, label: `${point.label}, one member takes all` }))];
}

/** What a scenario is given. */
function contextOf(
  master: MasterUnderTest,
  parameters: ParameterValues,
  { progress, signal, agents }: Pick<RunOptions, "progress" | "signal" | "agents">,
): ScenarioContext<ParameterValues> {
  return { master, parameters, progress, signal, ...(agents === undefined ? {} : { agents }) };
}

/** The fields that all masters' results of one run share. */
export type RunHead = {
  readonly startedAt: string;
  readonly machine: MachineFingerprint;
  readonly scenario: Scenario<ParameterValues>;
  readonly parameters: ParameterValues;
};

/** @throws SaltworksError USAGE for an unknown scenario or parameter */
export async function beginRun(
  options: Pick<RunOptions, "scenario" | "parameters">,
  masterHost?: string,
): Promise<RunHead> {
  const scenario = typeof options.scenario === "string" ? scenarioNamed(options.scenario) : options.scenario;
  const parameters = readParameters(scenario, options.parameters ?? {}, masterHost);
  await scenario.prepare?.(parameters);
  return { startedAt: new Date().toISOString(), machine: machineFingerprint(), scenario, parameters };
}

/** The configuration of this master for the run. */
export function configOf({ scenario, parameters }: RunHead, choice: MasterChoice): Record<string, unknown> {
  return masterConfigOf(choice, scenario.masterConfig?.(parameters) ?? {});
}

function withUsage({ usageFrom }: MasterUnderTest, points: Point[]): Point[] {
  return usageFrom === "nowhere" ? points.map((point) => ({ ...point, isUsageUnknown: true })) : points;
}

export function resultOf(
  { startedAt, machine, scenario, parameters }: RunHead,
  master: MasterUnderTest,
  configured: Pick<RunResult["master"], "config" | "settings">,
  points: Point[],
): RunResult {
  const { name, version, question, source } = scenario;
  return {
    schema: resultSchema,
    startedAt,
    tool: thisTool(),
    machine,
    scenario: { name, version, question, parameters: { ...parameters }, ...(source !== undefined && { source }) },
    master: {
      kind: master.kind,
      version: master.version,
      ...configured,
      ...(master.cluster && {
        cluster: { members: master.cluster.members.length, natsServer: master.cluster.natsServerVersion },
      }),
      ...(master.reach && { config: {}, address: `${master.host}:${master.requestPort}` }),
    },
    points,
  };
}

/**
 * The scenario's defaults, overridden by the given parameters.
 *
 * @throws SaltworksError USAGE for an unknown parameter or a value that cannot be used; what the scenario's own `demand` throws
 */
export function readParameters(
  scenario: Scenario<ParameterValues>,
  given: ParameterValues,
  masterHost = ownMasterHost,
): ParameterValues {
  const read: Record<string, ParameterValue> = { ...scenario.defaults };
  for (const [name, value] of Object.entries(given)) {
    const byDefault = scenario.defaults[name];
    if (byDefault === undefined) {
      const known = Object.keys(scenario.defaults).join(", ");
      throw new SaltworksError("USAGE", `${scenario.name} has no parameter ${name}; it has ${known}`, { name });
    }
    read[name] = readValue(name, value, byDefault);
  }
  checkParameters(scenario.name, read, scenario.defaults);
  scenario.demand?.(read, masterHost);
  return read;
}

function readValue(name: string, value: ParameterValue, byDefault: ParameterValue): ParameterValue {
  if (typeof value === typeof byDefault) return value;
  const text = String(value);
  if (typeof byDefault === "string") return text;
  if (typeof byDefault === "boolean" && (text === "true" || text === "false")) return text === "true";
  const number = Number(text);
  if (typeof byDefault === "number" && text.trim() !== "" && Number.isFinite(number)) return number;
  throw new SaltworksError("USAGE", `${name} takes a ${typeof byDefault}, not ${text}`, { name });
}
