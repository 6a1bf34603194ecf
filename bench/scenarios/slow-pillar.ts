/** Question: are returns still answered in time while one minion's pillar takes two seconds to render, again and again? */
import type { Point } from "../results/schema.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { PillarAsker, pillarDirectory } from "./setup/pillar-asker.ts";
import {
  aboutStorm,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { stormPoint } from "./storm-point.ts";
import { demandRounds, measureStorm, poissonMs, prepareRounds, returnLane, roundsOf, warmUp } from "./storm-returns.ts";

type SlowPillar = StormParameters & {
  readonly rate: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly pillarSeconds: number;
  readonly returnBytes: string;
  readonly seed: number;
};

const fun = "test.ping";
const verifyMax = 20_000;

export const slowPillar = defineScenario<SlowPillar>({
  name: "slow-pillar",
  version: 3,
  ownMaster: "needs pillar files of its own",
  question:
    "Are returns still answered in time while one minion's pillar takes two seconds to render, again and again?",
  defaults: {
    ...stormDefaults,
    minions: 200,
    rate: 500,
    seconds: 10,
    warmUp: 50,
    pillarSeconds: 2,
    returnBytes: "64",
    seed: 1,
  },
  about: {
    ...aboutStorm,
    rate: "returns a second, at random times (Poisson)",
    seconds: "of returns, first alone, then beside the pillar",
    warmUp: "returns of each minion before them that do not count",
    pillarSeconds: "that one pillar takes; it is asked for anew as soon as it is there",
    returnBytes: "size of the returned text",
    seed: "of arrival times",
  },
  demand: demandRounds,
  masterConfig: (p) => ({ ...versionConfig(p), pillar_roots: { base: [pillarDirectory] } }),
  run(context) {
    const { master, parameters: p } = context;
    return withStorm(context, async (site) => {
      const asker = await PillarAsker.open(master);
      try {
        const pillarSeconds = await asker.makeSlow(p.pillarSeconds);
        await warmUp(context, site, { rounds: p.warmUp, fun, returnBytes: p.returnBytes, seed: p.seed });
        const alone = await span(context, site, undefined);
        const beside = await span(context, site, asker);
        const [before, during] = [alone, beside].map((point) => point.operations.return?.percentilesUs.p99 ?? 0);
        beside.figures.returnP99ToAlone = (during ?? 0) / Math.max(1, before ?? 0);
        beside.figures.measuredPillarSeconds = pillarSeconds;
        return [alone, beside];
      } finally {
        asker.close();
      }
    });
  },
});

async function span(
  context: ScenarioContext<SlowPillar>,
  site: StormSite,
  asker: PillarAsker | undefined,
): Promise<Point> {
  const { parameters: p } = context;
  const rounds = roundsOf(p);
  const total = rounds * p.minions;
  const jids = await prepareRounds(context, site, { rounds, fun, returnBytes: p.returnBytes, seed: p.seed });
  const lanes = [{ lane: returnLane, plannedMs: poissonMs(total, p.rate, p.seed) }];
  const label = asker === undefined ? "returns alone" : "returns beside the pillar";
  const beside = asker === undefined ? undefined : (isOver: () => boolean) => asker.askUntil(isOver);
  const work = { label, jids, total, lanes, run: { verifyMax }, beside };
  const { span: spent, outcome, correctness, beside: pillars = 0 } = await measureStorm(context, site, work);
  return stormPoint({
    label: asker === undefined ? "alone" : "beside the pillar",
    parameters: { ...p, hasPillar: asker !== undefined },
    outcome,
    span: spent,
    correctness,
    figures: { pillars },
  });
}
