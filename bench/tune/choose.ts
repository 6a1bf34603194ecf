/** Chooses one value of a setting from measurements, with the reason as a text for the operator. Pure. */
import { formatChange, formatNumber } from "../report/format.ts";
import { trustFit } from "./trust.ts";
import { fitUsl, predictPerSecond } from "./usl.ts";

export type Sample = {
  readonly value: number;
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly p99Ms: number;
};

export type Choice = {
  readonly value: number;
  /** One or two sentences without line breaks. */
  readonly reason: string;
  readonly trust: "low" | "fair" | "good";
  /** The widest spread among repeats of one value, as a share; undefined without repeats. */
  readonly spread?: number | undefined;
};

/** With a larger spread the runs do not decide between values: the setting is shown, and not set. */
const undecidedSpread = 0.2;

export function isDecided({ spread = 0 }: Choice): boolean {
  return spread <= undecidedSpread;
}

/**
 * Fewer workers within this share of the best throughput are chosen, because more cost CPU, memory and switches. The share is the spread
 * of repeats, within these bounds: results within the spread are equal, and a large spread must not choose too few workers.
 */
const nearEnoughLeast = 0.05;
const nearEnoughUnrepeated = 0.1;
const nearEnoughMost = 0.2;
/** A smaller difference is not worth a change of the default, however often it was measured. */
const worthwhileShare = 0.05;
/** The assumed noise of single runs: without repeats, only a larger difference counts. */
const unknownNoiseShare = 0.25;
/** The share of CPU that a delay must save to be worth its latency. */
const lingerSavingMin = 0.15;

/** @returns undefined without samples */
export function chooseWorkers(samples: readonly Sample[], cores: number): Choice | undefined {
  const byCount = [...grouped(samples)].sort(([a], [b]) => a - b);
  const best = byCount.toSorted(([, a], [, b]) => throughput(b) - throughput(a))[0];
  if (best === undefined) return undefined;
  const [bestCount, bestSamples] = best;
  const measured = noiseOf(byCount.map(([, some]) => some));
  const noise = measured ?? nearEnoughUnrepeated;
  const enough = (1 - Math.min(nearEnoughMost, Math.max(nearEnoughLeast, noise))) * throughput(bestSamples);
  const [count, chosen] = byCount.find(([, some]) => throughput(some) >= enough) ?? best;
  const points = samples.map(({ value, perSecond }) => ({ workers: value, perSecond }));
  const fit = fitUsl(points);
  const { level, reasons } = trustFit(fit, points, cores);
  const tried = byCount.map(([value]) => value).join(", ");
  const share =
    count === bestCount
      ? `the most of ${tried} workers`
      : `${formatNumber((100 * throughput(chosen)) / throughput(bestSamples))} % of the ${formatNumber(throughput(bestSamples))}/s of ${bestCount}, the most of ${tried}`;
  const curve =
    fit === undefined
      ? ""
      : Number.isFinite(fit.peakWorkers)
        ? ` The scalability law puts the peak at ${fit.peakWorkers.toFixed(1)} workers, ${formatNumber(predictPerSecond(fit, fit.peakWorkers))}/s.`
        : " The scalability law sees no peak.";
  const spread = chosen.length > 1 ? `, repeats differ by ${percent(noise)}` : "";
  const doubt = reasons.length === 0 ? "" : ` Trust ${level}: ${reasons.join("; ")}.`;
  const reason = `${count} answered ${formatNumber(throughput(chosen))} returns/s, ${share}${spread}.${curve}${doubt}`;
  return { value: count, reason, trust: level === "none" ? "low" : level, spread: measured };
}

/** Leaves the default only for a gain that is larger than the difference between repeats. */
export function chooseByThroughput(name: string, samples: readonly Sample[], byDefault: number): Choice | undefined {
  const groups = grouped(samples);
  const usual = groups.get(byDefault);
  if (usual === undefined) return undefined;
  const others = [...groups].filter(([value]) => value !== byDefault);
  if (others.length === 0) return unjudged(byDefault);
  const noise = noiseOf([...groups.values()]);
  const [value, best] = others.toSorted(([, a], [, b]) => throughput(b) - throughput(a))[0] ?? [byDefault, usual];
  const tried = [...groups.keys()].sort((a, b) => a - b).join(", ");
  const gain = throughput(best) / throughput(usual);
  const bar = Math.max(worthwhileShare, noise ?? unknownNoiseShare);
  const trust = noise === undefined ? "low" : noise > worthwhileShare ? "fair" : "good";
  const seen = noise === undefined ? "one run each, so the noise is unknown" : `repeats differ by ${percent(noise)}`;
  if (gain > 1 + bar) {
    return {
      value,
      reason: `${formatChange(gain)} throughput against the default ${byDefault} (${seen}).`,
      trust,
      spread: noise,
    };
  }
  const nearest = `; the best other, ${value}, gives ${formatChange(gain)}`;
  return {
    value: byDefault,
    reason: `The default: of ${tried} no ${name} is better by more than ${percent(bar)} (${seen})${nearest}.`,
    trust,
    spread: noise,
  };
}

/** A delay gathers larger batches. It is worth its latency if it saves much CPU and the latency objective is still met. */
export function chooseLinger(samples: readonly Sample[], byDefault: number, p99MsMax: number): Choice | undefined {
  const groups = grouped(samples);
  const usual = groups.get(byDefault);
  if (usual === undefined) return undefined;
  if (groups.size === 1) return unjudged(byDefault);
  const noise = noiseOf([...groups.values()], "cpuUs");
  const bar = 1 - Math.max(lingerSavingMin, noise ?? unknownNoiseShare);
  const usualCpuUs = median(usual, "cpuUs");
  const better = [...groups].filter(
    ([value, some]) =>
      value !== byDefault && median(some, "cpuUs") < bar * usualCpuUs && median(some, "p99Ms") <= p99MsMax / 2,
  );
  const [value, best] = better.toSorted(([, a], [, b]) => median(a, "cpuUs") - median(b, "cpuUs"))[0] ?? [
    byDefault,
    usual,
  ];
  const trust = noise === undefined ? "low" : "fair";
  const tried = [...groups.keys()].sort((a, b) => a - b).join(", ");
  if (value === byDefault) {
    const saving = `saves ${percent(1 - bar)} of the CPU at a light load`;
    return {
      value,
      reason: `The default: of ${tried} µs none ${saving} with the 99th percentile below half the objective.`,
      trust,
      spread: noise,
    };
  }
  const [cpu, p99] = [formatChange(median(best, "cpuUs") / usualCpuUs), formatNumber(median(best, "p99Ms"))];
  return {
    value,
    reason: `At a light load ${cpu} CPU per return against ${byDefault} µs, p99 ${p99} ms.`,
    trust,
    spread: noise,
  };
}

/** All runs with another value were void. */
function unjudged(byDefault: number): Choice {
  return {
    value: byDefault,
    reason: "The default: no other value could be judged, their runs were void.",
    trust: "low",
  };
}

function grouped(samples: readonly Sample[]): Map<number, Sample[]> {
  const groups = new Map<number, Sample[]>();
  for (const sample of samples) groups.set(sample.value, [...(groups.get(sample.value) ?? []), sample]);
  return groups;
}

function throughput(samples: readonly Sample[]): number {
  return median(samples, "perSecond");
}

function median(samples: readonly Sample[], key: "perSecond" | "cpuUs" | "p99Ms"): number {
  const sorted = samples.map((sample) => sample[key]).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** The widest spread among repeats of one value, as a share; undefined without repeats. */
function noiseOf(groups: readonly (readonly Sample[])[], key: "perSecond" | "cpuUs" = "perSecond"): number | undefined {
  const repeated = groups.filter((samples) => samples.length > 1);
  if (repeated.length === 0) return undefined;
  const spreads = repeated.map((samples) => {
    const values = samples.map((sample) => sample[key]);
    return Math.max(...values) / Math.min(...values) - 1;
  });
  return Math.max(...spreads);
}

export function percent(share: number): string {
  return `${formatNumber(Math.round(share * 1_000) / 10)} %`;
}
