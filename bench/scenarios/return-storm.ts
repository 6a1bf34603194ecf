/** Question: what does a return cost the master, when the whole fleet answers its jobs at once, at a given rate, or now and then? */
import { type Arrivals, planSchedule } from "../load/open-loop.ts";
import { besideOthers } from "../load/self-check.ts";
import type { Point } from "../results/schema.ts";
import { cpuOf } from "./measures/measure.ts";
import { networkOf } from "./measures/network.ts";
import { storageOf } from "./measures/storage.ts";
import { defineScenario, type Scenario, type ScenarioContext } from "./scenario.ts";
import {
  aboutStorm,
  demandStorm,
  follow,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { measureStorm, prepareRounds, returnLane, roundsOf, warmingUp, warmUp } from "./storm-returns.ts";

type ReturnStorm = StormParameters & {
  readonly returns: number;
  readonly warmUp: number;
  readonly warmSeconds: number;
  readonly rate: number;
  readonly seconds: number;
  readonly arrivals: string;
  readonly returnBytes: string;
  readonly isFollowed: boolean;
  readonly seed: number;
};

const fun = "test.ping";

const about = {
  ...aboutStorm,
  returns: "returns of each minion, in a closed loop",
  warmUp: "returns of each minion before them that do not count",
  warmSeconds: "seconds of an open loop before, at the same rate, that do not count",
  rate: "returns a second of the whole fleet, in an open loop; 0: closed loop, every minion has one request outstanding",
  seconds: "how long the open loop goes on",
  arrivals: "of the open loop: constant or poisson",
  returnBytes: "size of the returned text: 64, 64..4096, lognormal:700:0.8 or 64:70%,4096:25%,262144:5%; 0: true",
  isFollowed: "whether an event subscriber follows everything meanwhile, as an operator's command does",
  seed: "of sizes and arrivals",
} as const;

const defaults: ReturnStorm = {
  ...stormDefaults,
  returns: 20,
  warmUp: 20,
  warmSeconds: 0,
  rate: 0,
  seconds: 20,
  arrivals: "constant",
  returnBytes: "64",
  isFollowed: true,
  seed: 1,
};

export const returnStorm = defineReturns({
  name: "return-storm",
  question: "What does a return cost the master, when the whole fleet answers its jobs at once or at a given rate?",
  defaults,
});

export const lightLoad = defineReturns({
  name: "light-load",
  question: "What does a return cost a master with little to do, when returns come one at a time?",
  defaults: { ...defaults, minions: 200, warmUp: 5, warmSeconds: 60, rate: 500, seconds: 60, arrivals: "poisson" },
});

function defineReturns(own: {
  readonly name: string;
  readonly question: string;
  readonly defaults: ReturnStorm;
}): Scenario<ReturnStorm> {
  return defineScenario<ReturnStorm>({ ...own, version: 1, about, demand, masterConfig: versionConfig, run });
}

function demand(p: ReturnStorm, masterHost: string) {
  const rounds = p.rate > 0 ? roundsOf({ ...p, seconds: Math.max(p.seconds, p.warmSeconds) }) : p.returns;
  return demandStorm(p, masterHost, p.minions * Math.max(p.warmUp, rounds));
}

function run(context: ScenarioContext<ReturnStorm>): Promise<Point[]> {
  const { master, parameters: p } = context;
  return withStorm(context, async (site) => {
    const follower = p.isFollowed ? await follow(master, context.signal) : undefined;
    try {
      await warmUp(context, site, { rounds: p.warmUp, fun, returnBytes: p.returnBytes, seed: p.seed + 1_000 });
      const warm = p.rate > 0 && p.warmSeconds > 0 ? await storm(warmingUp(context), site) : undefined;
      // Events of the warm-up that come late would count as events of the storm.
      await follower?.untilSeen(p.warmUp * p.minions + (warm?.operations.return?.completed ?? 0));
      const returnsBefore = follower?.counts.returns ?? 0;
      const point = await storm(context, site);
      await follower?.untilSeen(returnsBefore + (point.operations.return?.completed ?? 0));
      if (follower !== undefined && master.reach?.isHeard !== false)
        point.figures.returnEvents = follower.counts.returns - returnsBefore;
      return [point];
    } finally {
      follower?.close();
    }
  });
}

async function storm(context: ScenarioContext<ReturnStorm>, site: StormSite): Promise<Point> {
  const { parameters: p } = context;
  const rounds = p.rate > 0 ? roundsOf(p) : p.returns;
  const count = rounds * p.minions;
  const jids = await prepareRounds(context, site, { rounds, fun, returnBytes: p.returnBytes, seed: p.seed });
  const schedule = { ratePerSecond: p.rate, seconds: count / p.rate, arrivals: p.arrivals as Arrivals, seed: p.seed };
  const lanes = [p.rate > 0 ? { lane: returnLane, plannedMs: planSchedule(schedule).plannedMs } : { lane: returnLane }];
  const label = p.rate > 0 ? `returns at ${p.rate}/s` : "returns";
  const { span, outcome, correctness } = await measureStorm(context, site, { label, jids, total: count, lanes });
  const total = outcome.lanes[returnLane];
  if (total === undefined) throw new Error("the storm told nothing of its returns");
  return {
    label: p.rate > 0 ? `${p.rate} returns/s` : "closed loop",
    parameters: { ...p },
    wallMs: outcome.wallMs,
    operations: { return: total.operation },
    cpu: cpuOf(span, total.completed),
    memory: span.memory,
    storage: storageOf(span, total.completed),
    network: networkOf(outcome.traffic, total.completed),
    series: span.series,
    correctness,
    generator: besideOthers(outcome.generator, span.otherShare),
    figures: {
      generatorCpuUsPerReturn: (outcome.generatorCpuMs * 1_000) / Math.max(1, total.sent),
      requestBytesMean: total.sentBytes / Math.max(1, total.sent + total.repeated),
      repliesVerified: total.verified,
      returnsRepeated: total.repeated,
      sealedAheadShare: total.sealedAhead / Math.max(1, count),
    },
  };
}
