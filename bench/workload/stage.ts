/** One stage of a workload: plans and prepares every operation, runs them together, and accounts for the answers. */

import type { LanePlan } from "../fleet/storm/outcome.ts";
import type { StormOutcome } from "../fleet/storm/storm.ts";
import { seededRandom } from "../load/random.ts";
import { judgeGenerator, SelfCheck, type SelfReport } from "../load/self-check.ts";
import type { OperationResult, Point } from "../results/schema.ts";
import { accountAll, duplicatesSeen, type Expected } from "../scenarios/measures/accounting.ts";
import { measured, type Span } from "../scenarios/measures/measure.ts";
import type { ScenarioContext } from "../scenarios/scenario.ts";
import { everybodyOf, publishJobs, type StormSite } from "../scenarios/setup/storm-setup.ts";
import { answered, errorsOf, stormPoint } from "../scenarios/storm-point.ts";
import { type ApiSession, callAsUsers, callPlanned } from "./api-calls.ts";
import { type JidSource, planJobs, planReturns, type ReturnPlan } from "./jobs.ts";
import { publishPlanned } from "./publisher.ts";
import type { Operation, Stage, Workload, WorkloadParameters } from "./schema.ts";
import { pathOf } from "./site.ts";
import { operationsIn, stageSchedule } from "./stage-schedule.ts";

/** Connections of each kind of request other than returns, as jobs of minions open separate ones. */
const askConnections = 100;

/** A job's returns that are under way at once; more wait, which counts as the master's time. */
const jobConnections = 1_000;

type StageContext = ScenarioContext<WorkloadParameters> & {
  readonly workload: Workload;
  readonly site: StormSite;
  readonly jids: JidSource;
  readonly session: ApiSession | undefined;
};

/** Work of the coordinator beside the storm: publishes and API calls. */
type Side = {
  readonly name: string;
  readonly run: (startedMs: number, signal: AbortSignal) => Promise<OperationResult>;
};

type Prepared = {
  readonly lanes: LanePlan[];
  readonly sides: Side[];
  readonly expected: Expected[];
  readonly absent: string[];
  total: number;
};

/** `index`: of the stage, for its own random numbers. @returns its point; undefined for a stage that is not measured */
export async function runStage(context: StageContext, stage: Stage, index: number): Promise<Point | undefined> {
  const prepared: Prepared = { lanes: [], sides: [], expected: [], absent: [], total: 0 };
  const scaled = { ...stage, seconds: stage.seconds * context.parameters.timeScale };
  for (const [place, operation] of context.workload.operations.entries()) {
    const seed = context.parameters.seed + 1_000 * (index + 1) + place;
    await prepare(context, operation, { stage: scaled, seed }, prepared);
  }
  const run = () => runPrepared(context, stage.name, prepared);
  if (!stage.isMeasured) {
    await run();
    return undefined;
  }
  const { master, signal } = context;
  const duplicatesBefore = await duplicatesSeen(master);
  const { span, result } = await measured(master, signal, run);
  return pointOf(context, scaled, { prepared, span, duplicatesBefore, ...result });
}

type Outcome = { readonly outcome: StormOutcome; readonly sides: Record<string, OperationResult> };

async function runPrepared(
  { site, progress, signal }: StageContext,
  name: string,
  { lanes, sides, total }: Prepared,
): Promise<Outcome> {
  return site.phase(progress, name, total, async () => {
    const check = new SelfCheck();
    // Neither goes on after the other has failed.
    const [stopSides, stopStorm] = [new AbortController(), new AbortController()];
    const sideSignal = AbortSignal.any([signal, stopSides.signal]);
    let besides: Promise<(readonly [name: string, result: OperationResult])[]> = Promise.resolve([]);
    const onStart = (atMs: number): void => {
      const startedMs = performance.now() + atMs - Date.now();
      check.start();
      besides = Promise.all(sides.map(async (side) => [side.name, await side.run(startedMs, sideSignal)] as const));
      besides.catch((error: unknown) => stopStorm.abort(error));
    };
    const stormSignal = AbortSignal.any([signal, stopStorm.signal]);
    const outcome = await site.storm.run(lanes, { signal: stormSignal, onStart }).catch((error: unknown) => {
      stopSides.abort(error);
      throw error;
    });
    const own = await besides;
    const self = check.stop();
    signal.throwIfAborted();
    const results = own.map(([, side]) => side);
    return {
      outcome: { ...outcome, generator: withSides(outcome.generator, self, results) },
      sides: Object.fromEntries(own),
    };
  });
}

/** The coordinator is a part of the generator, too. */
function withSides(storm: Point["generator"], self: SelfReport, sides: readonly OperationResult[]): Point["generator"] {
  if (sides.length === 0) return storm;
  const sum = (own: readonly OperationResult[], name: "sent" | "late"): number =>
    own.reduce((total, side) => total + side[name], 0);
  const open = sides.filter(({ loop }) => loop === "open");
  const own = judgeGenerator({
    ...{ reports: [self], loop: open.length > 0 ? "open" : "closed" },
    sent: sum(open, "sent"),
    late: sum(open, "late"),
  });
  const voidReasons = [...storm.voidReasons, ...own.voidReasons.map((reason) => `publishes and API calls: ${reason}`)];
  return {
    ...storm,
    cpuShare: Math.max(storm.cpuShare, own.cpuShare),
    loopDelayP99Ms: Math.max(storm.loopDelayP99Ms, own.loopDelayP99Ms),
    lateSends: storm.lateSends + own.lateSends,
    isVoid: voidReasons.length > 0,
    voidReasons,
  };
}

async function prepare(
  context: StageContext,
  operation: Operation,
  { stage, seed }: { readonly stage: Stage; readonly seed: number },
  prepared: Prepared,
): Promise<void> {
  const { parameters: p, site, workload } = context;
  const { name } = operation;
  const random = seededRandom(seed + 500);
  const schedule = (rate: number) => stageSchedule(rate * p.scale, stage, workload.arrivals, seed);
  if (operation.kind === "api") {
    const { pace } = operation;
    const { session } = context;
    if (session === undefined) throw new Error("the API has no session");
    if ("rate" in pace) {
      const plannedMs = schedule(pace.rate);
      prepared.total += plannedMs.length;
      const run: Side["run"] = (startedMs, signal) => callPlanned(operation, plannedMs, { session, signal, startedMs });
      prepared.sides.push({ name, run });
      return;
    }
    const span = { session, seconds: stage.seconds, random };
    const run: Side["run"] = (startedMs, signal) => callAsUsers(operation, pace, { ...span, signal, startedMs });
    prepared.sides.push({ name, run });
    return;
  }
  const plannedMs = schedule(operation.rate);
  if (plannedMs.length === 0) {
    prepared.absent.push(name);
    return;
  }
  prepared.total += plannedMs.length;
  if (operation.kind === "job" || operation.kind === "return") {
    return prepareReturns(context, operation, { plannedMs, random }, prepared);
  }
  const rounds = Math.ceil(plannedMs.length / p.minions);
  const each = { lane: name, rounds, connections: askConnections };
  if (operation.kind === "auth") await site.storm.prepareAuths({ ...each, hasToken: operation.hasToken });
  else {
    const target =
      operation.kind === "mine_get" ? operation.target : operation.kind === "file" ? pathOf(operation) : "";
    const textBytes = operation.kind === "pillar" || operation.kind === "file" ? 0 : operation.bytes;
    await site.storm.prepareAsks({ ...each, asking: askings[operation.kind], target, textBytes });
  }
  prepared.lanes.push({ lane: name, plannedMs });
}

const askings = {
  event: "_minion_event",
  mine: "_mine",
  mine_get: "_mine_get",
  pillar: "_pillar",
  file: "_serve_file",
} as const;

async function prepareReturns(
  context: StageContext,
  operation: Extract<Operation, { kind: "job" | "return" }>,
  { plannedMs, random }: { readonly plannedMs: Float64Array; readonly random: ReturnType<typeof seededRandom> },
  prepared: Prepared,
): Promise<void> {
  const { jids, master, site } = context;
  const ids = site.storm.ids();
  const fun = operation.function;
  let plan: ReturnPlan;
  if (operation.kind === "job") {
    const everybody = everybodyOf(master);
    const isListed = master.reach !== undefined;
    const planned = planJobs(operation, plannedMs, { ids, everybody, isListed, jids, random });
    plan = planned.plan;
    prepared.total += plan.plannedMs.length - plannedMs.length;
    const connect = () => master.client();
    const onPublished = (job: number, lateMs: number | undefined) => site.storm.published(operation.name, job, lateMs);
    prepared.sides.push({
      name: `${operation.name}: publish`,
      run: (startedMs, signal) => publishPlanned(planned.jobs, fun, { connect, signal, startedMs, onPublished }),
    });
  } else {
    const published = await publishJobs(context, Math.ceil(plannedMs.length / ids.length), fun);
    plan = planReturns(operation, plannedMs, { ids, jids: published, random });
  }
  // As a minion's own process for a job has a connection of its own.
  const own =
    operation.kind === "job"
      ? { connections: jobConnections, awaitsPublish: true }
      : { connections: 0, awaitsPublish: false };
  prepared.lanes.push(await site.storm.prepareJobReturns({ lane: operation.name, fun, ...own, ...plan }));
  prepared.expected.push(...plan.expected);
}

async function pointOf(
  { master, parameters: p, workload }: StageContext,
  stage: Stage,
  o: Outcome & { readonly prepared: Prepared; readonly span: Span; readonly duplicatesBefore: number },
): Promise<Point> {
  const { outcome, span, duplicatesBefore } = o;
  const isReturn = (name: string): boolean =>
    workload.operations.some((one) => one.name === name && (one.kind === "job" || one.kind === "return"));
  const lanes = Object.entries(outcome.lanes);
  const acknowledged = lanes.reduce((sum, [name, lane]) => sum + (isReturn(name) ? lane.completed - lane.wrong : 0), 0);
  const failed = Object.entries(o.sides).map(([name, { failed: count }]) => [`${name}: refused`, count]);
  const absent = o.prepared.absent.map((name) => [`${name}: too rare for this stage, none was planned`, 1]);
  const errors = { ...errorsOf(outcome), ...Object.fromEntries([...failed, ...absent]) };
  const stored = await accountAll(master, o.prepared.expected, { acknowledged, duplicatesBefore, errors });
  const others = answered({ lanes: Object.fromEntries(lanes.filter(([name]) => !isReturn(name))) });
  const sides = Object.values(o.sides);
  const ofSides = {
    expected: sides.reduce((sum, { planned }) => sum + planned, 0),
    accounted: sides.reduce((sum, { completed }) => sum + completed, 0),
  };
  const point = stormPoint({
    label: stage.name,
    parameters: { ...p, stage: stage.name, seconds: stage.seconds },
    ...{ outcome, span },
    correctness: {
      ...stored,
      expected: stored.expected + others.expected + ofSides.expected,
      accounted: stored.accounted + others.accounted + ofSides.accounted,
      missing: stored.missing + others.missing + ofSides.expected - ofSides.accounted,
    },
    besides: ofSides.accounted,
    figures: { plannedPerSecond: plannedPerSecond(workload, stage, p.scale) },
  });
  const wallMs = Math.max(point.wallMs, stage.seconds * 1_000);
  return { ...point, wallMs, operations: { ...point.operations, ...o.sides } };
}

/** Operations a second that the file asks for, without the returns of jobs and the calls of users. */
function plannedPerSecond({ operations }: Workload, stage: Stage, scale: number): number {
  const rates = operations.map((one) => (one.kind === "api" ? ("rate" in one.pace ? one.pace.rate : 0) : one.rate));
  return rates.reduce((sum, rate) => sum + operationsIn(rate * scale, stage), 0) / stage.seconds;
}
