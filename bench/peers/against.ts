/**
 * One scenario against several masters that are up at the same time: the same load on the same machine, in turns of alternating order.
 * Every turn is a whole run of the scenario with a separate fleet. The first round is a warm-up and does not count.
 */
import { SaltworksError } from "../../src/errors.ts";
import type { Comparison, Point, RunResult } from "../results/schema.ts";
import { liveLine } from "../scenarios/measures/live-line.ts";
import { beginRun, configOf, pointsOf, type RunHead, type RunOptions, resultOf } from "../scenarios/run.ts";
import { effectiveSettings } from "../scenarios/setup/effective-settings.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";
import { type MasterChoice, startMaster } from "../scenarios/setup/master-under-test.ts";
import { takeTurns } from "./abba.ts";
import { compareTurns, type Turn } from "./bootstrap.ts";

export type AgainstOptions = Omit<RunOptions, "master"> & {
  /** The first is compared with each of the others. */
  readonly masters: readonly MasterChoice[];
  /** Turns of each master that count. With fewer than four there is no verdict. */
  readonly repeats: number;
};

type Contender = {
  readonly name: string;
  readonly master: MasterUnderTest;
  readonly configured: Pick<RunResult["master"], "config" | "settings">;
};

/** One round of points. */
type Round = Turn & { readonly points: readonly Point[] };

/**
 * @returns a result for each master, in their order; the first one's has the comparisons
 * @throws SaltworksError USAGE for an unknown scenario or parameter or fewer than two masters, the signal's reason, and what a run throws
 */
export async function runAgainst(options: AgainstOptions): Promise<RunResult[]> {
  if (options.masters.length < 2) throw new SaltworksError("USAGE", "a comparison needs two masters");
  const head = await beginRun(options);
  const contenders: Contender[] = [];
  try {
    for (const choice of options.masters) {
      options.signal.throwIfAborted();
      const contender = await open(head, choice, options, contenders);
      contenders.push(contender);
      const settings = await effectiveSettings(contender.master);
      if (settings !== undefined) contender.configured.settings = settings;
    }
    const sides = contenders.map((contender) => ({
      name: contender.name,
      turn: () => runOnce(head, contender.master, options),
    }));
    for (const side of sides) await side.turn();
    const rounds = await takeTurns(sides, options.repeats, options);
    const results = contenders.map(({ name, master, configured }) =>
      resultOf(head, master, configured, withTurn(rounds.get(name) ?? [])),
    );
    const [own, ...others] = contenders.map(({ name }) => name);
    const comparisons = others.flatMap((other) => [
      ...compareByLabel(other, own ?? "", rounds),
      ...(options.masters[0]?.members === undefined ? [] : compareTimes(other, own ?? "", rounds)),
    ]);
    return results.map((result, index) => (index === 0 ? { ...result, comparisons } : result));
  } finally {
    await Promise.all(contenders.map(({ master }) => master.remove()));
  }
}

async function open(
  head: RunHead,
  choice: MasterChoice,
  { progress, signal }: AgainstOptions,
  others: readonly Contender[],
): Promise<Contender> {
  const config = configOf(head, choice);
  const phase = progress.phase(`start ${choice.kind}`);
  const master = await startMaster(choice, config, signal).finally(() => phase.end());
  const name = contenderName(choice, master.version);
  const alike = others.filter((other) => other.name.startsWith(name)).length;
  const own = alike === 0 ? name : `${name} (${alike + 1})`;
  master.onSample = (sample) => progress.note?.(liveLine(sample, own));
  return { name: own, master, configured: { config } };
}

/** "salt 3007.15, 2 workers". */
export function contenderName({ kind, members, workers }: MasterChoice, version: string): string {
  const threads = workers === undefined || kind === "floor" ? "" : `, ${workers} worker${workers === 1 ? "" : "s"}`;
  return `${kind} ${version}${members === undefined ? "" : `, ${members} members`}${threads}`;
}

async function runOnce(head: RunHead, master: MasterUnderTest, options: AgainstOptions): Promise<Round> {
  const points = await pointsOf(head, master, options);
  return { ...sumOf(points.map(turnOf)), points };
}

function turnOf({ cpu }: Point): Turn {
  return { cpuMs: cpu.totalMs, operations: cpu.usPerOperation === 0 ? 0 : (cpu.totalMs * 1_000) / cpu.usPerOperation };
}

function sumOf(turns: readonly Turn[]): Turn {
  return turns.reduce(
    (sum, turn) => ({ cpuMs: sum.cpuMs + turn.cpuMs, operations: sum.operations + turn.operations }),
    { cpuMs: 0, operations: 0 },
  );
}

function withTurn(rounds: readonly Round[]): Point[] {
  return rounds.flatMap(({ points }, index) =>
    points.map((point) => ({ ...point, parameters: { ...point.parameters, repeat: index + 1 } })),
  );
}

/** Points of a round with the same label form one figure. */
function compareByLabel(
  baseline: string,
  candidate: string,
  rounds: ReadonlyMap<string, readonly Round[]>,
): Comparison[] {
  const labels = new Set(rounds.get(candidate)?.[0]?.points.map(({ label }) => label));
  const turns = (name: string, label: string): Turn[] =>
    (rounds.get(name) ?? []).map(({ points }) => sumOf(points.filter((point) => point.label === label).map(turnOf)));
  return [...labels].flatMap((label) => {
    const [ours, theirs] = [turns(baseline, label), turns(candidate, label)];
    // A master without operations in a turn has no cost per operation. Missing answers are reported for each run.
    if ([...ours, ...theirs].some(({ cpuMs, operations }) => cpuMs === 0 || operations === 0)) return [];
    return compareTurns(
      `CPU per operation, ${label}`,
      { name: baseline, turns: ours },
      { name: candidate, turns: theirs },
    );
  });
}

/** How fast a cluster is beside a master alone: the time of the span, divided by its operations. */
function compareTimes(
  baseline: string,
  candidate: string,
  rounds: ReadonlyMap<string, readonly Round[]>,
): Comparison[] {
  const turns = (name: string): Turn[] =>
    (rounds.get(name) ?? []).flatMap(({ points: [point] }) =>
      point === undefined ? [] : [{ cpuMs: point.wallMs, operations: turnOf(point).operations }],
    );
  return [
    compareTurns(
      "time per operation",
      { name: baseline, turns: turns(baseline) },
      { name: candidate, turns: turns(candidate) },
    ),
  ];
}
