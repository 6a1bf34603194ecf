/** Conditions under which a bench has failed: `return.p99>50ms`. They are read before a run, and judged on each of its points. */
import { SaltworksError } from "../../src/errors.ts";
import { percentileUs, samplesNeeded } from "./percentiles.ts";
import type { OperationResult, Point } from "./schema.ts";

/** `limit`: in the written unit, of which one is `factor` microseconds, bytes or shares. */
export type Threshold = {
  readonly text: string;
  readonly subject: string;
  readonly quantity: string;
  readonly isUpper: boolean;
  readonly isEqualCrossed: boolean;
  readonly limit: number;
  readonly unit: string;
  readonly factor: number;
};

/** How a point stands to a threshold. `observed`: in the unit that the condition names. */
export type Judgement = {
  readonly text: string;
  readonly label: string;
  readonly observed: number;
  readonly unit: string;
  readonly isCrossed: boolean;
};

type Unit = "time" | "bytes" | "share" | "number";

/** Factors to microseconds, bytes and shares. */
const units: Readonly<Record<Exclude<Unit, "number">, ReadonlyMap<string, number>>> = {
  time: new Map(Object.entries({ us: 1, µs: 1, ms: 1_000, s: 1_000_000 })),
  bytes: new Map(Object.entries({ B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 })),
  share: new Map([["%", 0.01]]),
};

/** Quantities of a class of operations. Counts may be shares of what was planned. */
const percentiles: ReadonlyMap<string, keyof OperationResult["percentilesUs"]> = new Map([
  ["p50", "p50"],
  ["p90", "p90"],
  ["p99", "p99"],
  ["p99.9", "p999"],
  ["p999", "p999"],
  ["max", "max"],
]);
const counts = ["failed", "timedOut", "late"] as const;
/** Quantities of the whole master, and of the check of answers. */
const ofMaster: ReadonlyMap<string, { readonly unit: Unit; readonly of: (point: Point) => number }> = new Map([
  ["cpu.perOperation", { unit: "time", of: ({ cpu }) => cpu.usPerOperation }],
  ["memory.rss", { unit: "bytes", of: ({ memory }) => memory.rssBytes }],
  ["memory.peak", { unit: "bytes", of: ({ memory }) => memory.peakRssBytes }],
  ["answers.missing", { unit: "number", of: ({ correctness }) => correctness.missing }],
  ["answers.duplicates", { unit: "number", of: ({ correctness }) => correctness.duplicates }],
]);

/** The quantity is the last word, because an operation's name may have points, spaces and colons in it: `pings: publish`, `state.apply`. */
const form = /^\s*([^\s<>].*?)\.(p99\.9|[A-Za-z]\w*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ%]*)\s*$/;
/** Subjects that a running master may not show. */
const ofUsage: readonly string[] = ["cpu", "memory"];
const example =
  "such as return.p99>50ms, return.rate<1000, cpu.perOperation>100us, memory.peak>2GiB or figures.downtimeMs>500";

function unitOf(subject: string, quantity: string): Unit | undefined {
  const own = ofMaster.get(`${subject}.${quantity}`);
  if (own !== undefined) return own.unit;
  if (["cpu", "memory", "answers"].includes(subject)) return undefined;
  if (subject === "figures" || quantity === "rate") return "number";
  if (percentiles.has(quantity)) return "time";
  return counts.some((count) => count === quantity) ? "share" : undefined;
}

/** @throws SaltworksError USAGE that says what is wrong with the condition */
export function readThreshold(text: string): Threshold {
  const refuse = (fault: string) => new SaltworksError("USAGE", `--fail-if '${text}': ${fault}`);
  const [, subject = "", quantity = "", comparison = "", number = "", unit = ""] = form.exec(text) ?? [];
  if (subject === "") throw refuse(`write a quantity, a comparison and a number, ${example}`);
  const kind = unitOf(subject, quantity);
  if (kind === undefined) {
    const known = [...percentiles.keys(), "rate", ...counts].map((name) => `OPERATION.${name}`);
    throw refuse(
      `there is no quantity '${subject}.${quantity}'; there are: ${[...known, ...ofMaster.keys(), "figures.NAME"].join(", ")}`,
    );
  }
  const factor = factorOf(kind, unit);
  if (factor === undefined) {
    const known = kind === "number" ? "no unit" : [...units[kind].keys()].join(", ");
    throw refuse(`${subject}.${quantity} takes ${known}, not '${unit}'`);
  }
  return {
    ...{ text: text.trim(), subject, quantity, limit: Number(number), unit, factor },
    ...{ isUpper: comparison.startsWith(">"), isEqualCrossed: comparison.endsWith("=") },
  };
}

/** Times and bytes need a unit, so that none is mistaken. A count of operations has none, a share of them has. */
function factorOf(kind: Unit, unit: string): number | undefined {
  if (kind === "number") return unit === "" ? 1 : undefined;
  if (kind === "share" && unit === "") return 1;
  return units[kind].get(unit);
}

/** @throws SaltworksError USAGE if no point has the quantity, and names what there is; or if a point has too few samples for a percentile */
export function judgeThresholds(thresholds: readonly Threshold[], points: readonly Point[]): readonly Judgement[] {
  return thresholds.flatMap((threshold) => {
    demandSamples(threshold, points);
    demandSeen(threshold, points);
    const judged = points.flatMap((point) => {
      const observed = observedIn(threshold, point);
      return observed === undefined ? [] : [judge(threshold, point.label, observed)];
    });
    if (judged.length === 0) throw unmeasured(threshold, points);
    return judged;
  });
}

/** A withheld percentile can neither hold nor fail. */
function demandSamples({ text, subject, quantity }: Threshold, points: readonly Point[]): void {
  const percentile = percentiles.get(quantity);
  if (percentile === undefined) return;
  for (const { label, operations } of points) {
    const operation = operations[subject];
    if (operation === undefined || percentileUs(operation, percentile) !== undefined) continue;
    const samples = `${label} has ${operation.completed} sample${operation.completed === 1 ? "" : "s"} of ${subject}`;
    const fault = `too few samples: ${samples}; ${quantity} needs ${samplesNeeded(percentile)}`;
    throw new SaltworksError("USAGE", `--fail-if '${text}': ${fault}`);
  }
}

/** Zeros of a master whose CPU time and memory the bench cannot read would cross nothing. */
function demandSeen({ text, subject }: Threshold, points: readonly Point[]): void {
  if (!ofUsage.includes(subject)) return;
  const unseen = points.find(({ isUsageUnknown }) => isUsageUnknown === true);
  if (unseen === undefined) return;
  throw new SaltworksError(
    "USAGE",
    `--fail-if '${text}': the master's ${subject} was not seen in ${unseen.label}: give -c DIR, --metrics URL or --pid PID`,
  );
}

function observedIn({ subject, quantity, unit }: Threshold, point: Point): number | undefined {
  const own = ofMaster.get(`${subject}.${quantity}`);
  if (own !== undefined) return own.of(point);
  if (subject === "figures") return point.figures[quantity];
  const operation = point.operations[subject];
  if (operation === undefined) return undefined;
  if (quantity === "rate") return operation.perSecond;
  const percentile = percentiles.get(quantity);
  if (percentile !== undefined) return operation.percentilesUs[percentile];
  const count = operation[quantity as (typeof counts)[number]];
  return unit === "%" ? count / Math.max(1, operation.planned) : count;
}

function judge(threshold: Threshold, label: string, inBase: number): Judgement {
  const { text, isUpper, isEqualCrossed, limit, unit, factor } = threshold;
  const observed = inBase / factor;
  const isBeyond = isUpper ? observed > limit : observed < limit;
  return { text, label, observed, unit, isCrossed: isBeyond || (isEqualCrossed && observed === limit) };
}

function unmeasured({ text, subject }: Threshold, points: readonly Point[]): SaltworksError {
  const names = (of: (point: Point) => object) =>
    [...new Set(points.flatMap((point) => Object.keys(of(point))))].join(", ");
  const known =
    subject === "figures"
      ? `its figures are: ${names(({ figures }) => figures) || "none"}`
      : `its operations are: ${names(({ operations }) => operations) || "none"}`;
  return new SaltworksError("USAGE", `--fail-if '${text}': the run has nothing of this name; ${known}`);
}
