/** The valid values of each parameter by name. Parameters of one name mean the same in every scenario. */
import { SaltworksError } from "../../../src/errors.ts";
import { largestOf, parseDistribution } from "../../load/distribution.ts";
import type { ParameterValue, ParameterValues } from "../../results/schema.ts";
import { targetCases } from "../../targeting/synthetic-fleet.ts";

/** The expected value, as in "takes ..."; undefined if the value can be used. */
type Check = (value: ParameterValue) => string | undefined;

export const minionsMost = 1_000_000;
export const perSecondMost = 1_000_000;
export const daySeconds = 86_400;
const tenMinutesMs = 600_000;
/** The default of `request_max_bytes`: a master closes the connection of a client that sends more. */
export const bytesMost = 100 * 1024 * 1024;

function whole(min: number, max: number): Check {
  return (value) =>
    Number.isInteger(value) && isWithin(value, min, max) ? undefined : `a whole number ${range(min, max)}`;
}

function number(min: number, max: number): Check {
  return (value) => (isWithin(value, min, max) ? undefined : `a number ${range(min, max)}`);
}

function isWithin(value: ParameterValue, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

function range(min: number, max: number): string {
  return `from ${min} to ${max.toLocaleString("en-US")}`;
}

function oneOf(...known: readonly ParameterValue[]): Check {
  return (value) => (known.includes(value) ? undefined : `one of ${known.join(", ")}`);
}

/** A list with commas, each part checked separately. */
function listOf(check: (text: string) => boolean, expected: string): Check {
  return (value) => (String(value).split(",").every(check) ? undefined : `a list of ${expected}`);
}

const wholeList = (max: number): Check =>
  listOf((text) => /^[1-9]\d*$/.test(text) && Number(text) <= max, `whole numbers ${range(1, max)}, such as 1,2`);

/** @throws SaltworksError USAGE, whose message has more detail than a check could give */
function distribution(largest: number): Check {
  return (value) =>
    largestOf(parseDistribution(String(value))) <= largest
      ? undefined
      : `values up to ${largest.toLocaleString("en-US")}`;
}

const driverNames: readonly string[] = ["lmdb", "local_cache"];
const targetNames: readonly string[] = targetCases(1).map(({ name }) => name);

/** A rate of 0 means a closed loop if that is the default. Otherwise it is refused, because it measures nothing. */
const rateLeast = 0.1;

const checks: Readonly<Record<string, Check>> = {
  minions: whole(1, minionsMost),
  version: oneOf(0, 2, 3),
  connections: whole(0, minionsMost),
  processes: whole(0, 64),
  returns: whole(1, 10_000_000),
  warmUp: whole(0, 100_000),
  warmSeconds: number(0, daySeconds),
  rate: number(rateLeast, perSecondMost),
  returnRate: number(rateLeast, perSecondMost),
  mineRate: number(0, perSecondMost),
  eventRate: number(0, perSecondMost),
  reactions: number(rateLeast, perSecondMost),
  kind: oneOf("runner", "wheel"),
  pillarRate: number(0, perSecondMost),
  authRate: number(0, perSecondMost),
  seconds: number(0.1, daySeconds),
  minutes: number(0.01, 7 * 1_440),
  cycleSeconds: number(0.1, 3_600),
  scale: number(0.001, 1_000),
  timeScale: number(0.001, 1_000),
  seed: whole(0, 2 ** 31),
  arrivals: oneOf("constant", "poisson"),
  rounds: whole(1, 100_000),
  publishes: whole(1, 100_000),
  jobs: whole(0, 10_000),
  rotations: whole(0, 1_000),
  restarts: whole(1, 1_000),
  authTimeoutMs: whole(1, tenMinutesMs),
  spreadMs: whole(0, tenMinutesMs),
  restMs: whole(0, tenMinutesMs),
  delayMs: distribution(tenMinutesMs),
  returnBytes: (value) => (typeof value === "number" ? whole(0, bytesMost)(value) : distribution(bytesMost)(value)),
  mineBytes: whole(0, bytesMost),
  files: whole(10, 100_000),
  fileBytes: whole(16, 1024 * 1024 - 1),
  states: whole(1, 1_000),
  managed: whole(1, 1_000),
  pillarSeconds: number(0.1, 60),
  askers: whole(1, minionsMost),
  readers: whole(1, minionsMost),
  slow: whole(0, 1_000),
  target: (value) => (value === "" ? "a glob of minion ids" : undefined),
  samples: whole(1, 1_000_000),
  only: (value) =>
    value === ""
      ? undefined
      : listOf((text) => targetNames.includes(text), `targets: ${targetNames.join(", ")}`)(value),
  batches: wholeList(100_000),
  writers: wholeList(64),
  shards: wholeList(64),
  drivers: listOf((text) => driverNames.includes(text), driverNames.join(", ")),
  durability: oneOf("fsync", "commit", "async"),
};

/** Numbers and texts without a check. Booleans need none. */
export function uncheckedOf(parameters: ParameterValues): string[] {
  return Object.entries(parameters)
    .filter(([name, value]) => typeof value !== "boolean" && checks[name] === undefined)
    .map(([name]) => name);
}

/** @throws SaltworksError USAGE for the first value that cannot be used */
export function checkParameters(scenario: string, parameters: ParameterValues, defaults: ParameterValues): void {
  for (const [name, value] of Object.entries(parameters)) {
    // A default can always be used.
    if (value === defaults[name]) continue;
    const expected = checks[name]?.(value);
    if (expected === undefined) continue;
    throw new SaltworksError("USAGE", `${scenario}: ${name} takes ${expected}, not ${value}`, { name });
  }
}
