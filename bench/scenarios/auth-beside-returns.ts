/** Question: are returns still answered in time, and all of them, while the whole fleet authenticates? */
import type { Point } from "../results/schema.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import {
  aboutStorm,
  demandStorm,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { stormPoint } from "./storm-point.ts";
import { measureStorm, poissonMs, prepareRounds, returnLane, roundsOf, warmUp } from "./storm-returns.ts";

type AuthBesideReturns = StormParameters & {
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly warmUp: number;
  readonly hasToken: boolean;
  readonly returnBytes: string;
  readonly authTimeoutMs: number;
  readonly seed: number;
};

const fun = "test.ping";
const verifyMax = 20_000;
const triesMax = 20;

export const authBesideReturns = defineScenario<AuthBesideReturns>({
  name: "auth-beside-returns",
  version: 2,
  question: "Are returns still answered in time, and all of them, while the whole fleet authenticates?",
  defaults: {
    ...stormDefaults,
    rate: 1_000,
    seconds: 10,
    rounds: 6,
    warmUp: 10,
    hasToken: true,
    returnBytes: "64",
    authTimeoutMs: 5_000,
    seed: 1,
  },
  about: {
    ...aboutStorm,
    rate: "returns a second, at random times (Poisson)",
    seconds: "of returns, first alone, then beside the authentications",
    rounds: "authentications of each minion, all wanted at once",
    warmUp: "returns of each minion before them that do not count",
    hasToken: "whether minions make the master prove itself, as those do that know its key",
    returnBytes: "size of the returned text",
    authTimeoutMs: "how long a minion waits for an authentication before it asks again",
    seed: "of arrival times",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions * Math.max(p.warmUp, p.rounds + roundsOf(p))),
  masterConfig: versionConfig,
  run(context) {
    const { parameters: p } = context;
    return withStorm(context, async (site) => {
      await warmUp(context, site, { rounds: p.warmUp, fun, returnBytes: p.returnBytes, seed: p.seed });
      const alone = await span(context, site, false);
      const beside = await span(context, site, true);
      const [before, during] = [alone, beside].map((point) => point.operations.return?.percentilesUs.p99 ?? 0);
      beside.figures.returnP99ToAlone = (during ?? 0) / Math.max(1, before ?? 0);
      return [alone, beside];
    });
  },
});

async function span(context: ScenarioContext<AuthBesideReturns>, site: StormSite, hasAuths: boolean): Promise<Point> {
  const { parameters: p } = context;
  const rounds = roundsOf(p);
  const count = rounds * p.minions;
  const jids = await prepareRounds(context, site, { rounds, fun, returnBytes: p.returnBytes, seed: p.seed });
  if (hasAuths) await site.storm.prepareAuths({ lane: "auth", rounds: p.rounds, hasToken: p.hasToken });
  const returnPlan = { lane: returnLane, plannedMs: poissonMs(count, p.rate, p.seed) };
  const lanes = hasAuths ? [returnPlan, { lane: "auth" }] : [returnPlan];
  const label = hasAuths ? "returns beside authentications" : "returns alone";
  const total = count + (hasAuths ? p.rounds * p.minions : 0);
  const run = { verifyMax, timeoutMs: p.authTimeoutMs, tries: triesMax };
  const { span: spent, outcome, correctness } = await measureStorm(context, site, { label, jids, total, lanes, run });
  const returns = outcome.lanes[returnLane];
  return stormPoint({
    label: hasAuths ? "beside authentications" : "alone",
    parameters: { ...p, hasAuths },
    outcome,
    span: spent,
    correctness,
    figures: { returnsRepeated: returns?.repeated ?? 0, authsRepeated: outcome.lanes.auth?.repeated ?? 0 },
  });
}
