/** Question: does the master's memory grow while jobs go on, minute after minute? */
import { setTimeout as wait } from "node:timers/promises";
import { LatencyHistogram } from "../load/histogram.ts";
import { planSchedule } from "../load/open-loop.ts";
import { besideOthers } from "../load/self-check.ts";
import { memoryOf } from "../memory.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./measures/accounting.ts";
import { cpuOf, measured } from "./measures/measure.ts";
import { slopeOf } from "./measures/slope.ts";
import { storageOf } from "./measures/storage.ts";
import { defineScenario, noProgress, type ScenarioContext } from "./scenario.ts";
import { oneByOne } from "./setup/operations.ts";
import {
  aboutStorm,
  demandStorm,
  follow,
  publishJobs,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { answered, errorsOf } from "./storm-point.ts";

type Growth = StormParameters & {
  readonly minutes: number;
  readonly rate: number;
  readonly cycleSeconds: number;
  readonly returnBytes: string;
};

const fun = "test.ping";
const lane = "return";
const msPerMinute = 60_000;
const msPerHour = 3_600_000;
const slopeFigure = "anonymousSlopeBytesPerHour";
/** The first part of a run fills caches and pools; its samples do not count for the slope. */
const settlingShare = 0.3;

export const growth = defineScenario<Growth>({
  name: "growth",
  version: 1,
  ownMaster: "looks at the master's whole memory, which other minions change",
  question: "Does the master's memory grow while jobs go on, minute after minute?",
  defaults: { ...stormDefaults, minions: 500, minutes: 10, rate: 1_000, cycleSeconds: 15, returnBytes: "64..2048" },
  about: {
    ...aboutStorm,
    minutes: "how long jobs go on; the first 30 % do not count for the slope",
    rate: "returns a second",
    cycleSeconds: "of returns between two looks at memory, which are taken when nothing is under way",
    returnBytes: "size of the returned text",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.rate * p.cycleSeconds),
  masterConfig: versionConfig,
  run(context) {
    return withStorm(context, async (site) => {
      const follower = await follow(context.master);
      try {
        return [await grow(context, site)];
      } finally {
        follower.close();
      }
    });
  },
});

async function grow(context: ScenarioContext<Growth>, site: StormSite): Promise<Point> {
  const { master, parameters: p, progress, signal } = context;
  const rounds = Math.max(1, Math.round((p.rate * p.cycleSeconds) / p.minions));
  const seconds = (rounds * p.minions) / p.rate;
  const looks: { atMs: number; rssBytes: number; anonymousBytes: number }[] = [];
  const histogram = new LatencyHistogram();
  const jids: string[] = [];
  let generator: Point["generator"] | undefined;
  const errors: Record<string, number> = {};
  let undone = 0;
  const duplicatesBefore = await duplicatesSeen(master);
  const phase = progress.phase("jobs", Math.ceil(p.minutes));
  const { span } = await measured(master, signal, async () => {
    const startedMs = performance.now();
    let minutesTold = 0;
    while (performance.now() - startedMs < p.minutes * msPerMinute) {
      const cycle = await publishJobs({ master, signal, progress: noProgress }, rounds, fun);
      jids.push(...cycle);
      await site.storm.prepareReturns({ lane, jids: cycle, fun, returnBytes: p.returnBytes, seed: jids.length });
      const { plannedMs } = planSchedule({ ratePerSecond: p.rate, seconds, arrivals: "poisson", seed: jids.length });
      const outcome = await site.storm.run([{ lane, plannedMs }], { signal });
      const { expected, accounted } = answered(outcome);
      undone += expected - accounted;
      for (const [name, times] of Object.entries(errorsOf(outcome))) errors[name] = (errors[name] ?? 0) + times;
      const operation = outcome.lanes[lane]?.operation;
      if (operation !== undefined) histogram.add(LatencyHistogram.decode(operation.histogram));
      generator = worse(generator, outcome.generator);
      await wait(settleMs, undefined, { signal });
      const atMs = performance.now() - startedMs;
      looks.push({ atMs, ...memoryOf(master.processId) });
      const minutes = Math.floor(atMs / msPerMinute);
      phase.step(minutes - minutesTold);
      minutesTold = minutes;
    }
  });
  phase.end();
  const counted = looks.filter(({ atMs }) => atMs >= p.minutes * msPerMinute * settlingShare);
  const slope = slopeOf(counted.map(({ atMs, anonymousBytes }) => [atMs / msPerHour, anonymousBytes]));
  const acknowledged = jids.length * p.minions - undone;
  return {
    label: `${p.minutes} minutes`,
    parameters: { ...p },
    wallMs: span.wallMs,
    operations: { return: { ...oneByOne(histogram, span.wallMs, { failed: undone, timedOut: 0 }), loop: "open" } },
    cpu: cpuOf(span, acknowledged),
    memory: span.memory,
    storage: storageOf(span, acknowledged),
    series: {
      atMs: looks.map(({ atMs }) => atMs),
      values: {
        rssBytes: looks.map(({ rssBytes }) => rssBytes),
        anonymousBytes: looks.map(({ anonymousBytes }) => anonymousBytes),
      },
    },
    correctness: await account(master, { jids, ids: site.storm.ids() }, { acknowledged, duplicatesBefore, errors }),
    generator: besideOthers(generator ?? noGenerator, span.otherShare),
    figures: {
      // With fewer than three looks there is no slope.
      ...(slope !== undefined && { [slopeFigure]: slope.slope }),
      anonymousFirstBytes: lowest(counted.slice(0, Math.ceil(counted.length / 3))),
      anonymousLastBytes: lowest(counted.slice(-Math.ceil(counted.length / 3))),
      rssLastBytes: counted.at(-1)?.rssBytes ?? 0,
      looks: counted.length,
      jobs: jids.length,
    },
    ...(slope !== undefined && { intervals: { [slopeFigure]: { low: slope.low, high: slope.high } } }),
  };
}

/** A heap grows between two collections, so only its size after one counts. */
function lowest(looks: readonly { readonly anonymousBytes: number }[]): number {
  return looks.length === 0 ? 0 : Math.min(...looks.map(({ anonymousBytes }) => anonymousBytes));
}

/** Wait after the last reply of a cycle, for work that the master has put off. */
const settleMs = 500;
const noGenerator = { cpuShare: 0, loopDelayP99Ms: 0, lateSends: 0, isVoid: true, voidReasons: ["no cycle was run"] };

function worse(one: Point["generator"] | undefined, other: Point["generator"]): Point["generator"] {
  if (one === undefined) return other;
  const voidReasons = [...new Set([...one.voidReasons, ...other.voidReasons])];
  return {
    cpuShare: Math.max(one.cpuShare, other.cpuShare),
    loopDelayP99Ms: Math.max(one.loopDelayP99Ms, other.loopDelayP99Ms),
    lateSends: one.lateSends + other.lateSends,
    isVoid: one.isVoid || other.isVoid,
    voidReasons,
    ...(other.agents === undefined ? {} : { agents: other.agents }),
  };
}
