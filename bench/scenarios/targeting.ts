/** Question: how long does a publish to a target take on a master that has accepted 100,000 minions, and how much of that is matching? */
import { setTimeout as rest } from "node:timers/promises";
import { LatencyHistogram } from "../load/histogram.ts";
import type { OperationResult, Point } from "../results/schema.ts";
import { seedFleet } from "../targeting/seed.ts";
import { type TargetCase, targetCases } from "../targeting/synthetic-fleet.ts";
import { cpuOf, measured } from "./measures/measure.ts";
import { storageOf } from "./measures/storage.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import type { MasterUnderTest } from "./setup/master-contract.ts";

type Targeting = {
  readonly minions: number;
  readonly samples: number;
  readonly warmUp: number;
  readonly restMs: number;
  readonly only: string;
};

export const targeting = defineScenario<Targeting>({
  name: "targeting-100k",
  version: 1,
  ownMaster: "writes the keys and grains of 100,000 minions",
  question:
    "How long does a publish to a target take on a master that has accepted 100,000 minions, and how much of that is matching?",
  defaults: {
    minions: 100_000,
    samples: 100,
    warmUp: 20,
    restMs: 0,
    only: "everybody,list of 100,grain,pillar,compound of five",
  },
  about: {
    minions: "accepted keys, with grains and pillar on record; none is connected",
    samples: "publishes per target that count, one after the other; as many again are timed inside the master",
    warmUp: "publishes per target before them; the very first is told apart",
    restMs:
      "before each publish that is timed inside the master; 0: one upon the other, so that each shares the cores with what the last one left to do",
    only: "which targets, by name (bench/targeting/synthetic-fleet.ts); empty for all",
  },
  // No minion is connected, so presence pings and writing Salt's files would only add noise.
  masterConfig: () => ({ presence_timeout: 86_400, timeout: 1 }),
  async run(context) {
    const { master, parameters: p, progress } = context;
    const phase = progress.phase("write keys and grains", p.minions);
    await seedFleet(master, p.minions, phase);
    phase.end();
    await master.restart();
    const wanted = new Set(p.only === "" ? [] : p.only.split(","));
    const cases = targetCases(p.minions).filter(({ name }) => wanted.size === 0 || wanted.has(name));
    const points: Point[] = [];
    for (const target of cases) points.push(await pointOf(context, target));
    return points;
  },
});

async function pointOf(context: ScenarioContext<Targeting>, target: TargetCase): Promise<Point> {
  const { master, parameters: p, progress, signal } = context;
  const phase = progress.phase(target.name, 2 * p.samples + p.warmUp);
  const client = master.client();
  const publish = async (): Promise<number> => {
    signal.throwIfAborted();
    const startedMs = performance.now();
    const { minions } = await client.publish(target.expression, "test.ping", [], target.kind);
    const tookMs = performance.now() - startedMs;
    phase.step();
    expected = minions.length;
    return tookMs;
  };
  let expected = 0;
  try {
    const firstMs = await publish();
    for (let done = 1; done < p.warmUp; done += 1) await publish();
    const whole = new LatencyHistogram();
    const matching = new LatencyHistogram();
    const sending = new LatencyHistogram();
    const { span } = await measured(master, signal, async () => {
      for (let sample = 0; sample < p.samples; sample += 1) whole.recordMs(await publish());
    });
    // A separate loop, because reading the times costs CPU time, too.
    for (let sample = 0; sample < p.samples; sample += 1) {
      await rest(p.restMs, undefined, { signal });
      await publish();
      const inside = await timesInside(master);
      if (inside === undefined) break;
      matching.recordMs(inside.matchUs / 1_000);
      sending.recordMs(inside.publishUs / 1_000);
    }
    const operations: Record<string, OperationResult> = { publish: operation(whole, span.wallMs) };
    if (matching.count > 0) operations.match = operation(matching, span.wallMs);
    if (sending.count > 0) operations.publishInMaster = operation(sending, span.wallMs);
    return {
      label: target.name,
      parameters: { ...p, kind: target.kind, target: String(target.expression).slice(0, 200) },
      wallMs: span.wallMs,
      operations,
      cpu: cpuOf(span, p.samples),
      memory: span.memory,
      storage: storageOf(span, p.samples),
      series: span.series,
      correctness: { expected: p.samples, accounted: p.samples, missing: 0, duplicates: 0, errors: {} },
      generator: { cpuShare: 0, loopDelayP99Ms: 0, lateSends: 0, isVoid: false, voidReasons: [] },
      figures: { expectedMinions: expected, firstPublishMs: firstMs },
    };
  } finally {
    client.close();
    phase.end();
  }
}

/** Our master's measures of its last publish. */
async function timesInside(master: MasterUnderTest): Promise<{ matchUs: number; publishUs: number } | undefined> {
  const counters = await master.counters?.();
  if (counters === undefined) return undefined;
  const read = (name: string): number => counters.main.get(name) ?? 0;
  return { matchUs: read("jobs.lastMatchUs"), publishUs: read("jobs.lastPublishUs") };
}

function operation(histogram: LatencyHistogram, wallMs: number): OperationResult {
  const { count } = histogram;
  return {
    ...{ planned: count, sent: count, completed: count, failed: 0, timedOut: 0, late: 0 },
    histogram: histogram.encode(),
    percentilesUs: histogram.percentilesUs(),
    perSecond: count / (wallMs / 1_000),
  };
}
