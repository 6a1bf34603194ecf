/** The load that a plan is for: what the operator says of the fleet, and the rates that follow, in the mean and in the peak hour. Pure. */
import { SaltworksError } from "../../src/errors.ts";
import { type Distribution, draw, parseDistribution } from "../load/distribution.ts";
import { seededRandom } from "../load/random.ts";

/** `bytes`: of each return's text, as docs/bench.md writes sizes. */
export type PlannedJob = {
  readonly function: string;
  readonly targetShare: number;
  readonly perDay: number;
  readonly bytes: string;
};

export type FleetLoad = {
  readonly minions: number;
  readonly jobs: readonly PlannedJob[];
  readonly retentionHours: number;
  /** Of each minion. */
  readonly pillarsPerDay: number;
  readonly eventsPerDay: number;
  readonly minePutsPerDay: number;
  readonly authsPerDay: number;
  /** Of the whole fleet. */
  readonly mineGetsPerDay: number;
  /** CPU of one pillar; undefined: the calibration's. */
  readonly pillarMs: number | undefined;
  /** The rate of the busiest hour, divided by the day's mean. */
  readonly peak: number;
};

/** Operations a second. */
export type Rates = {
  readonly returns: number;
  readonly returnBytes: number;
  readonly events: number;
  readonly mineGets: number;
  readonly pillars: number;
  readonly auths: number;
  readonly copies: number;
};

/** A ping of the whole fleet each hour, and a highstate of each minion twice a day. */
export const jobsDefault: readonly PlannedJob[] = [
  { function: "test.ping", targetShare: 1, perDay: 24, bytes: "4" },
  { function: "state.apply", targetShare: 1, perDay: 2, bytes: "lognormal:14000:1" },
];

export const loadDefaults = {
  retentionHours: 24,
  pillarsPerDay: 2,
  eventsPerDay: 24,
  minePutsPerDay: 24,
  authsPerDay: 2,
  mineGetsPerDay: 1_000,
  peak: 3,
} as const;

const daySeconds = 86_400;
const jobExample = "state.apply,target=100%,a-day=48,bytes=lognormal:14000:1";
/** A state's job asks for the pillar first. */
const pillarFunctions = /^state\./;

/** @throws SaltworksError USAGE that says what is wrong */
export function readJob(text: string): PlannedJob {
  const refuse = (why: string) => new SaltworksError("USAGE", `--job '${text}': ${why}; write ${jobExample}`);
  const [name = "", ...rest] = text.split(/,(?=[a-z-]+=)/);
  if (!/^\w+(\.\w+)*$/.test(name)) throw refuse(`'${name}' is not a function`);
  const given = new Map(rest.map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]));
  for (const key of given.keys())
    if (!["target", "a-day", "bytes"].includes(key)) throw refuse(`'${key}' is not known`);
  const share = /^(\d+(?:\.\d+)?)%$/.exec(given.get("target") ?? "100%");
  const targetShare = Number(share?.[1]) / 100;
  if (!(targetShare > 0 && targetShare <= 1)) throw refuse("target is a share of the fleet, such as 25%");
  const perDay = Number(given.get("a-day") ?? Number.NaN);
  if (!(perDay > 0)) throw refuse("a-day is how often it runs a day");
  const bytes = given.get("bytes") ?? "64";
  parseDistribution(bytes);
  return { function: name, targetShare, perDay, bytes };
}

/** `growth`: of a year, 0.3 for 30 %. */
export function grown(load: FleetLoad, growth: number, years: number): FleetLoad {
  return withMinions(load, Math.round(load.minions * (1 + growth) ** years));
}

/** The same fleet with more minions: what the whole fleet asks grows with it. */
export function withMinions(load: FleetLoad, minions: number): FleetLoad {
  return { ...load, minions, mineGetsPerDay: (load.mineGetsPerDay * minions) / load.minions };
}

export function meanRates(load: FleetLoad): Rates {
  const { minions, jobs } = load;
  const each = jobs.map(({ targetShare, perDay, ...job }) => ({ ...job, count: minions * targetShare * perDay }));
  const sum = (of: (job: (typeof each)[number]) => number): number => each.reduce((total, job) => total + of(job), 0);
  const pillarJobs = sum((job) => (pillarFunctions.test(job.function) ? job.count : 0));
  const perDay = {
    returns: sum(({ count }) => count),
    returnBytes: sum(({ count, bytes }) => count * meanOf(parseDistribution(bytes))),
    // A put is a request of a few hundred bytes, as an event is.
    events: minions * (load.eventsPerDay + load.minePutsPerDay),
    mineGets: load.mineGetsPerDay,
    pillars: minions * load.pillarsPerDay + pillarJobs,
    auths: minions * load.authsPerDay,
    copies: minions * jobs.reduce((total, job) => total + job.perDay, 0),
  };
  return ratesTimes(perDay, 1 / daySeconds);
}

export function peakRates(load: FleetLoad): Rates {
  return ratesTimes(meanRates(load), load.peak);
}

export function ratesTimes(rates: Rates, factor: number): Rates {
  return {
    returns: rates.returns * factor,
    returnBytes: rates.returnBytes * factor,
    events: rates.events * factor,
    mineGets: rates.mineGets * factor,
    pillars: rates.pillars * factor,
    auths: rates.auths * factor,
    copies: rates.copies * factor,
  };
}

const meanDraws = 20_000;

function meanOf(distribution: Distribution): number {
  if (distribution.kind === "fixed") return distribution.value;
  const random = seededRandom(1);
  let sum = 0;
  for (let index = 0; index < meanDraws; index += 1) sum += draw(distribution, random);
  return sum / meanDraws;
}
