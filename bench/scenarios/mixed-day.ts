/** Question: how long does each kind of request wait when returns, mine reads, events, pillars and authentications come together? */
import { planSchedule } from "../load/open-loop.ts";
import type { Point } from "../results/schema.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { fillMines } from "./setup/asks.ts";
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
import { stormPoint } from "./storm-point.ts";
import { measureStorm, prepareRounds, returnLane, roundsOf, warmingUp, warmUp } from "./storm-returns.ts";

type MixedDay = StormParameters & {
  readonly seconds: number;
  readonly returnRate: number;
  readonly returnBytes: string;
  readonly mineRate: number;
  readonly mineBytes: number;
  readonly target: string;
  readonly eventRate: number;
  readonly pillarRate: number;
  readonly authRate: number;
  readonly warmUp: number;
  readonly warmSeconds: number;
  readonly seed: number;
};

const fun = "state.apply";
/** Connections of each kind of request other than returns, as jobs of minions open separate ones. */
const askConnections = 100;

export const mixedDay = defineScenario<MixedDay>({
  name: "mixed-day",
  version: 1,
  question:
    "How long does each kind of request wait when returns, mine reads, events, pillars and authentications come together, as on a working day?",
  defaults: {
    ...stormDefaults,
    seconds: 20,
    returnRate: 500,
    returnBytes: "64:70%,4096:25%,262144:5%",
    mineRate: 20,
    mineBytes: 256,
    target: "sim-1?",
    eventRate: 50,
    pillarRate: 20,
    authRate: 20,
    warmUp: 5,
    warmSeconds: 20,
    seed: 1,
  },
  about: {
    ...aboutStorm,
    seconds: "how long",
    returnRate: "returns a second; every rate is of random times (Poisson)",
    returnBytes: "size of the returned text",
    mineRate: "mine reads a second; 0: none",
    mineBytes: "in each minion's mine",
    target: "whose mine is read, as a glob",
    eventRate: "events that minions fire, a second; 0: none",
    pillarRate: "pillars asked for, a second; 0: none",
    authRate: "authentications a second; 0: none",
    warmUp: "returns of each minion before, that do not count",
    warmSeconds: "seconds of the same day before, that do not count",
    seed: "of sizes and arrival times",
  },
  demand: (p, masterHost) => {
    const day =
      Math.max(p.seconds, p.warmSeconds) * (p.returnRate + p.mineRate + p.eventRate + p.pillarRate + p.authRate);
    demandStorm(p, masterHost, Math.max(p.minions * p.warmUp, day));
  },
  masterConfig: versionConfig,
  run(context) {
    const { master, parameters: p } = context;
    return withStorm(context, async (site) => {
      const follower = await follow(master);
      try {
        await warmUp(context, site, { rounds: p.warmUp, fun, returnBytes: "64", seed: p.seed });
        await fillMines(context, site);
        if (p.warmSeconds > 0) await day(warmingUp(context), site);
        return [await day(context, site)];
      } finally {
        follower.close();
      }
    });
  },
});

async function day(context: ScenarioContext<MixedDay>, site: StormSite): Promise<Point> {
  const { parameters: p } = context;
  const rounds = roundsOf({ rate: p.returnRate, seconds: p.seconds, minions: p.minions });
  const jids = await prepareRounds(context, site, { rounds, fun, returnBytes: p.returnBytes, seed: p.seed });
  const lanes = [planned(returnLane, p.returnRate, (rounds * p.minions) / p.returnRate, p.seed)];
  const asks = [
    ["mine_get", "_mine_get", p.mineRate],
    ["event", "_minion_event", p.eventRate],
    ["pillar", "_pillar", p.pillarRate],
  ] as const;
  for (const [index, [lane, asking, rate]] of asks.entries()) {
    if (rate <= 0) continue;
    const plan = planned(lane, rate, p.seconds, p.seed + 1 + index);
    const each = { rounds: Math.ceil(plan.plannedMs.length / p.minions), connections: askConnections };
    await site.storm.prepareAsks({ lane, asking, ...each, target: p.target, textBytes: p.mineBytes });
    lanes.push(plan);
  }
  if (p.authRate > 0) {
    const plan = planned("auth", p.authRate, p.seconds, p.seed + asks.length + 1);
    const each = { rounds: Math.ceil(plan.plannedMs.length / p.minions), connections: askConnections };
    await site.storm.prepareAuths({ lane: "auth", hasToken: true, ...each });
    lanes.push(plan);
  }
  const total = lanes.reduce((sum, { plannedMs }) => sum + plannedMs.length, 0);
  const work = { label: "a mixed day", jids, total, lanes };
  const { span, outcome, correctness } = await measureStorm(context, site, work);
  const returns = outcome.lanes[returnLane];
  return stormPoint({
    label: "all together",
    parameters: { ...p },
    outcome,
    span,
    correctness,
    figures: { returnBytesMean: (returns?.sentBytes ?? 0) / Math.max(1, returns?.sent ?? 0) },
  });
}

function planned(lane: string, ratePerSecond: number, seconds: number, seed: number) {
  return { lane, plannedMs: planSchedule({ ratePerSecond, seconds, arrivals: "poisson", seed }).plannedMs };
}
