/** Parses the command line of `saltworks bench`. Errors name the wrong word and the right ones. */
import { join } from "node:path";
import type { Host } from "../../src/cli/host/host.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { understand } from "../../src/cli/start/command-line.ts";
import { checkValue } from "../../src/config/check-value.ts";
import { distancesTo } from "../../src/config/edit-distance.ts";
import type { OptionTable } from "../../src/config/options/option.ts";
import { masterOptions } from "../../src/config/schema.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";
import { SaltworksError } from "../../src/errors.ts";
import type { AgentsChoice } from "../agents/agents.ts";
import { readMembers, readPeers } from "../peers/choices.ts";
import type { ParameterValues } from "../results/schema.ts";
import { readThreshold, type Threshold } from "../results/thresholds.ts";
import { scenarios } from "../scenarios/registry.ts";
import { readParameters } from "../scenarios/run.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";
import { readWorkload } from "../workload/read.ts";
import { workloadScenario } from "../workload/scenario.ts";
import { readAgents } from "./agent.ts";
import { demandRunsAnywhere, readRunningMaster } from "./running-request.ts";
import { readSweep, type Sweep } from "./sweep.ts";

type BenchOptions = OptionsOf<"bench">;
/** Options of the command line that set a parameter of the load. */
type LoadOptions = Partial<Pick<BenchOptions, "minions" | "rate" | "seconds" | "set">>;

export type RunRequest = {
  readonly scenario: Scenario<ParameterValues>;
  /** Parameters that the command line gives. */
  readonly parameters: ParameterValues;
  /** Ours first, then its peers. */
  readonly masters: readonly [MasterChoice, ...MasterChoice[]];
  /** Hosts that generate the load; undefined: this one. */
  readonly agents: AgentsChoice | undefined;
  readonly repeats: number;
  /** A parameter with several values. */
  readonly sweep: Sweep | undefined;
  /** Conditions under which the command fails (`--fail-if`). */
  readonly thresholds: readonly Threshold[];
  readonly directory: string;
  readonly isJson: boolean;
};

const repeatsMax = 100;
/** With fewer rounds there is no verdict. */
const repeatsAgainst = 4;
const resultDirectory = "bench-results";

export function understandBench(argv: readonly string[], host: Host) {
  return understand("bench", argv, host);
}

/** @throws SaltworksError USAGE */
export function readRunRequest(word: string, options: BenchOptions, host: Host): RunRequest {
  const scenario = findScenario(word);
  const running = readRunningMaster(options);
  const parameters = readLoad(scenario, options, running?.host);
  if (running !== undefined) demandRunsAnywhere(scenario);
  const members = readMembers(scenario, options);
  const workers = inRange("--workers", options.workers, 1, masterOptions.worker_threads.max ?? 1);
  const ours: MasterChoice = {
    // What a running master is shows when the bench asks it.
    kind: running === undefined ? "saltworks" : "unknown",
    ...(running === undefined ? {} : { running }),
    ...(workers === undefined ? {} : { workers }),
    ...(members === undefined ? {} : { members }),
    config: readMasterConfig(options.masterConfig ?? []),
  };
  const repeats = inRange("--repeats", options.repeats, 1, repeatsMax);
  return {
    scenario,
    parameters,
    masters: [ours, ...readPeers(scenario, options, host, ours)],
    agents: readAgents(scenario, options),
    repeats: repeats ?? (options.against === undefined ? 1 : repeatsAgainst),
    sweep: options.sweep === undefined ? undefined : readSweep(scenario, parameters, options.sweep, running?.host),
    thresholds: (options.failIf ?? []).map(readThreshold),
    directory: directoryOf(options),
    isJson: options.isJson,
  };
}

export function directoryOf({ outputDirectory }: { readonly outputDirectory: string | undefined }): string {
  return outputDirectory ?? join(".", resultDirectory);
}

/** A scenario by its name, or the one of a workload file. @throws SaltworksError USAGE with the nearest names, or all */
export function findScenario(name: string): Scenario<ParameterValues> {
  if (/\.ya?ml$/.test(name)) return workloadScenario(readWorkload(name));
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name);
  throw new SaltworksError("USAGE", `there is no scenario '${name}'${suggestion(name, names)}`);
}

/** "; did you mean 'x'?" if a name is near, else "; there are: ...". */
export function suggestion(name: string, known: readonly string[]): string {
  const distanceMax = Math.max(2, Math.floor(name.length / 3));
  const ranked = distancesTo(name, known, distanceMax)
    .filter(({ candidate, distance }) => distance <= distanceMax || (name.length > 2 && candidate.includes(name)))
    .sort((a, b) => a.distance - b.distance);
  if (ranked.length === 0) return `; there are: ${known.join(", ")}`;
  const names = ranked.slice(0, 3).map(({ candidate }) => `'${candidate}'`);
  return `; did you mean ${names.join(" or ")}?`;
}

/** @throws SaltworksError USAGE for a parameter that the scenario does not have, or a value of the wrong type */
export function readLoad(
  scenario: Scenario<ParameterValues>,
  options: LoadOptions,
  masterHost?: string,
): ParameterValues {
  const given = new Map<string, string | number>();
  for (const [key, value] of pairs("--set", options.set ?? [])) given.set(key, value);
  for (const key of ["minions", "rate", "seconds"] as const) {
    const number = inRange(`--${key}`, options[key], key === "rate" ? 0 : 1, Number.MAX_SAFE_INTEGER);
    if (number !== undefined) given.set(key, number);
  }
  const known = Object.keys(scenario.defaults);
  for (const key of given.keys()) {
    if (known.includes(key)) continue;
    throw new SaltworksError("USAGE", `${scenario.name} has no parameter '${key}'; it has: ${known.join(", ")}`);
  }
  const parameters = Object.fromEntries(given);
  // Parsed only to refuse wrong values before anything starts.
  readParameters(scenario, parameters, masterHost);
  return parameters;
}

/** @throws SaltworksError USAGE for an option that the master does not have, or a value that it does not take */
export function readMasterConfig(settings: readonly string[]): Record<string, unknown> {
  const table: OptionTable = masterOptions;
  const config: Record<string, unknown> = {};
  for (const [name, text] of pairs("--master-config", settings)) {
    const option = table[name];
    if (option === undefined) {
      throw new SaltworksError("USAGE", `the master has no option '${name}'${suggestion(name, Object.keys(table))}`);
    }
    const checked = checkValue(option, plainValue(text));
    if ("fault" in checked) throw new SaltworksError("USAGE", `--master-config ${name}: ${checked.fault}`);
    config[name] = checked.value;
  }
  return config;
}

/** Numbers, true and false become such values; anything else is text. */
function plainValue(text: string): ConfigValue {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function pairs(option: string, words: readonly string[]): [string, string][] {
  return words.map((word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new SaltworksError("USAGE", `${option} takes KEY=VALUE, not '${word}'`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
}

/** @throws SaltworksError USAGE */
export function inRange(option: string, value: number | undefined, min: number, max: number): number | undefined {
  if (value === undefined || (value >= min && value <= max)) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
  throw new SaltworksError("USAGE", `${option} takes a number ${range}, not ${value}`);
}
