/** Costs of masters under the same load: numbers for a result line, and sentences for the operator. */
import type { Comparison } from "../results/schema.ts";
import { compareTurns, type Turn, usPerOperation } from "./bootstrap.ts";

/** One master's turn under load. `storm`: the generator's check of itself. */
export type LoadTurn = Turn & {
  readonly wallMs: number;
  readonly generatorCpuMs: number;
  readonly storm?: {
    readonly bytesPerRequest: number;
    readonly latencyUsP50: number;
    readonly latencyUsP99: number;
    /** All latencies, as `LatencyHistogram` encodes them. */
    readonly histogram: string;
    /** Why the generator, not the master, may have been the limit. */
    readonly voidReasons: readonly string[];
  };
};

export type SideSummary = {
  readonly name: string;
  readonly operations: number;
  readonly cpuUsPerOperation: number;
  readonly cpuUsPerOperationByTurn: readonly number[];
  readonly operationsPerSecond: number;
  readonly generatorCpuUsPerOperation: number;
  readonly bytesPerRequest?: number;
  /** The figure of the worst turn. */
  readonly latencyMsP99?: number;
  readonly voidReasons: readonly string[];
};

export function summarize(name: string, turns: readonly LoadTurn[]): SideSummary {
  const sum = (pick: (turn: LoadTurn) => number): number => turns.reduce((total, turn) => total + pick(turn), 0);
  const operations = sum((turn) => turn.operations);
  const storms = turns.flatMap(({ storm }) => storm ?? []);
  const [first] = storms;
  return {
    name,
    operations,
    cpuUsPerOperation: rounded(usPerOperation(turns)),
    cpuUsPerOperationByTurn: turns.map((turn) => rounded(usPerOperation([turn]))),
    operationsPerSecond: Math.round(operations / (sum((turn) => turn.wallMs) / 1_000)),
    generatorCpuUsPerOperation: rounded((sum((turn) => turn.generatorCpuMs) * 1_000) / operations),
    ...(first === undefined
      ? {}
      : {
          bytesPerRequest: Math.round(first.bytesPerRequest),
          latencyMsP99: rounded(Math.max(...storms.map(({ latencyUsP99 }) => latencyUsP99)) / 1_000),
        }),
    voidReasons: [...new Set(storms.flatMap(({ voidReasons }) => voidReasons))],
  };
}

/** Compares `candidate` with each of the others. */
export function compareWith(
  candidate: string,
  turns: ReadonlyMap<string, readonly Turn[]>,
  what: string,
): Comparison[] {
  const own = { name: candidate, turns: turns.get(candidate) ?? [] };
  return [...turns]
    .filter(([name]) => name !== candidate)
    .map(([name, others]) => compareTurns(what, { name, turns: others }, own));
}

export function describeSide({ name, cpuUsPerOperation, ...rest }: SideSummary, operation: string): string {
  const byTurn = rest.cpuUsPerOperationByTurn.map(shown).join(", ");
  const rate = `${rest.operationsPerSecond.toLocaleString("en")}/s`;
  const voided = rest.voidReasons.map((reason) => `; ${reason}`).join("");
  return `${name}: ${shown(cpuUsPerOperation)} µs of CPU per ${operation} (turns ${byTurn}), ${rate}${voided}`;
}

export function describeComparison(comparison: Comparison): string {
  const { candidate, baseline, ratio, low, high, repeats, verdict } = comparison;
  const interval = `95 %: ${factor(low)} to ${factor(high)}, ${repeats} rounds`;
  const said = verdict === "no verdict" ? verdict : ratio < 1 ? `${shown(1 / ratio)} times less` : verdict;
  return `${candidate} / ${baseline}: ${factor(ratio)} (${repeats < 2 ? "one round" : interval}): ${said}`;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
}

function factor(value: number): string {
  return value.toPrecision(3);
}
