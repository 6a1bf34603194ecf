/** Returns of a whole fleet as scenarios measure them: jobs published, returns sealed ahead, sent, and every job x minion accounted for. */
import { planSchedule } from "../load/open-loop.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./measures/accounting.ts";
import { measured, type Span } from "./measures/measure.ts";
import { pacedSampleMs } from "./measures/sampler.ts";
import type { ScenarioContext } from "./scenario.ts";
import { demandStorm, publishJobs, type StormParameters, type StormSite } from "./setup/storm-setup.ts";
import { answered, errorsOf } from "./storm-point.ts";

/** The name of the storm's lane of returns. */
export const returnLane = "return";

type Site = Pick<ScenarioContext<StormParameters>, "master" | "progress" | "signal">;
type Rounds = { readonly rounds: number; readonly fun: string; readonly returnBytes: string; readonly seed: number };
type StormRun = StormSite["storm"]["run"];
type Outcome = Awaited<ReturnType<StormRun>>;

type RatedReturns = { readonly rate: number; readonly seconds: number; readonly minions: number };

/** Rounded to whole rounds, so that every job x minion is expected. */
export function roundsOf({ rate, seconds, minions }: RatedReturns): number {
  return Math.max(1, Math.round((rate * seconds) / minions));
}

/** For returns at a rate after a warm-up. @throws SaltworksError as `demandStorm` */
export function demandRounds(p: StormParameters & RatedReturns & { warmUp: number }, masterHost: string): void {
  demandStorm(p, masterHost, p.minions * Math.max(p.warmUp, roundsOf(p)));
}

/** Random arrival times (Poisson) of `count` operations, milliseconds. */
export function poissonMs(count: number, ratePerSecond: number, seed: number): Float64Array {
  return planSchedule({ ratePerSecond, seconds: count / ratePerSecond, arrivals: "poisson", seed }).plannedMs;
}

/** Publishes jobs and prepares one return of each minion to each of them. @returns the job ids */
export async function prepareRounds(context: Site, { storm }: StormSite, o: Rounds): Promise<string[]> {
  const { rounds, fun, returnBytes, seed } = o;
  const jids = await publishJobs(context, rounds, fun);
  await storm.prepareReturns({ lane: returnLane, jids, fun, returnBytes, seed });
  return jids;
}

/** Warms up in a closed loop, which is not counted: compiling hot code takes some ten thousand returns. */
export async function warmUp(context: Site, site: StormSite, o: Rounds): Promise<void> {
  if (o.rounds === 0) return;
  const jids = await prepareRounds(context, site, o);
  const { progress, signal } = context;
  await site.phase(progress, "warm up", jids.length * site.storm.ids().length, () =>
    site.storm.run([{ lane: returnLane }], { signal }),
  );
}

/** The same load as a warm-up of `warmSeconds`: a master that has just started still compiles what it runs often. */
export function warmingUp<P extends { readonly seconds: number; readonly warmSeconds: number; readonly seed: number }>(
  context: ScenarioContext<P>,
): ScenarioContext<P> {
  const { parameters: p } = context;
  return { ...context, parameters: { ...p, seconds: p.warmSeconds, seed: p.seed + 2_000 } };
}

/** Other requests than returns must be answered, too. */
function withOthers(stored: Point["correctness"], outcome: Outcome): Point["correctness"] {
  const lanes = Object.fromEntries(Object.entries(outcome.lanes).filter(([name]) => name !== returnLane));
  const { expected, accounted, missing } = answered({ lanes });
  return {
    ...stored,
    expected: stored.expected + expected,
    accounted: stored.accounted + accounted,
    missing: stored.missing + missing,
  };
}

/** Runs prepared lanes, `total` operations in all. `beside`: other work for the master from the first operation until `isOver`. */
export async function measureStorm<Beside = undefined>(
  { master, progress, signal }: Site,
  site: StormSite,
  o: {
    readonly label: string;
    readonly jids: readonly string[];
    readonly total: number;
    readonly lanes: Parameters<StormRun>[0];
    readonly run?: Parameters<StormRun>[1];
    readonly beside?: ((isOver: () => boolean) => Promise<Beside>) | undefined;
  },
): Promise<{
  readonly span: Span;
  readonly outcome: Outcome;
  readonly correctness: Point["correctness"];
  readonly beside: Beside | undefined;
}> {
  const duplicatesBefore = await duplicatesSeen(master);
  const isPaced = o.lanes.some(({ plannedMs }) => plannedMs !== undefined);
  let isOver = false;
  let other: Promise<Beside> | undefined;
  // Not before: the master must come to rest before the span, and after it.
  const work = () => {
    other = o.beside?.(() => isOver);
    // Its errors are thrown where it is awaited.
    other?.catch(() => undefined);
    const run = () => site.storm.run(o.lanes, { ...o.run, signal });
    return site.phase(progress, o.label, o.total, run).finally(() => {
      isOver = true;
    });
  };
  const { span, result: outcome } = await measured(master, signal, work, isPaced ? pacedSampleMs : undefined);
  const beside = await other;
  const returns = outcome.lanes[returnLane];
  const acknowledged = (returns?.completed ?? 0) - (returns?.wrong ?? 0);
  const observed = { acknowledged, duplicatesBefore, errors: errorsOf(outcome) };
  const stored = await account(master, { jids: o.jids, ids: site.storm.ids() }, observed);
  return { span, outcome, correctness: withOthers(stored, outcome), beside };
}
