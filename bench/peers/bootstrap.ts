/**
 * The confidence interval of a ratio of two masters' cost. Rounds, in which each master had one turn, are resampled; the spread of the
 * resampled ratios is the standard error. The interval is Student's, on the logarithm, with this error. Percentiles of the resampled ratios
 * would stay within the range of the rounds, which with four rounds misses the true ratio once in eight times.
 */
import { SaltworksError } from "../../src/errors.ts";
import { seededRandom } from "../load/random.ts";
import type { Comparison } from "../results/schema.ts";

/** CPU time and operations of one master in one turn. */
export type Turn = { readonly cpuMs: number; readonly operations: number };

/** A master's name and its turns: turn i belongs to round i. */
export type Contestant = { readonly name: string; readonly turns: readonly Turn[] };

const resamples = 4_000;
/** With fewer rounds there is no verdict, however far apart the figures are. */
const repeatsMin = 4;
/** A fixed seed: the same turns give the same interval. */
const seedDefault = 20_261_121;

/** Two-sided 95 % of Student's distribution by degrees of freedom, from 1. */
const studentQuantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045,
];
const normalQuantile = 1.96;

/**
 * CPU per operation of `candidate` to that of `baseline`, with an interval of 95 %.
 *
 * @throws SaltworksError USAGE if the two did not have the same number of turns, or none, or a turn did nothing
 */
export function compareTurns(
  name: string,
  baseline: Contestant,
  candidate: Contestant,
  seed: number = seedDefault,
): Comparison {
  const repeats = baseline.turns.length;
  const hasNothing = [...baseline.turns, ...candidate.turns].some(
    ({ cpuMs, operations }) => !(cpuMs > 0 && operations > 0),
  );
  if (repeats === 0 || repeats !== candidate.turns.length || hasNothing) {
    throw new SaltworksError("USAGE", `${name}: both need the same number of turns, each with operations and CPU time`);
  }
  const ratioOver = (rounds: readonly number[]): number =>
    perOperation(candidate, rounds) / perOperation(baseline, rounds);
  const all = Array.from({ length: repeats }, (_, index) => index);
  const random = seededRandom(seed);
  const logs = Array.from({ length: resamples }, () =>
    Math.log(ratioOver(all.map(() => Math.floor(random() * repeats)))),
  );
  const ratio = ratioOver(all);
  const factor = Math.exp(errorMultiple(repeats) * deviation(logs));
  const [low, high] = [ratio / factor, ratio * factor];
  const isSure = repeats >= repeatsMin && (high < 1 || low > 1);
  const verdict = !isSure ? "no verdict" : high < 1 ? "less" : "more";
  return { name, baseline: baseline.name, candidate: candidate.name, ratio, low, high, repeats, verdict };
}

/** Microseconds of CPU per operation, over all turns. */
export function usPerOperation(turns: readonly Turn[]): number {
  return perOperation({ name: "", turns }, turns.keys()) * 1_000;
}

function perOperation({ turns }: Contestant, rounds: Iterable<number>): number {
  let cpuMs = 0;
  let operations = 0;
  for (const round of rounds) {
    cpuMs += turns[round]?.cpuMs ?? 0;
    operations += turns[round]?.operations ?? 0;
  }
  return cpuMs / operations;
}

/** Half the interval in bootstrap errors. Resampling with replacement underestimates the error of few rounds, which the factor corrects. */
function errorMultiple(repeats: number): number {
  if (repeats < 2) return 0;
  return studentQuantile(repeats - 1) * Math.sqrt(repeats / (repeats - 1));
}

/** Half of an interval of 95 % in standard errors, by degrees of freedom. */
export function studentQuantile(freedom: number): number {
  return studentQuantiles[freedom - 1] ?? normalQuantile;
}

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
