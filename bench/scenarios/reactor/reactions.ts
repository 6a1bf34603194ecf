/** Question: are returns still answered in time while the reactor reacts to a thousand events a second? */
import type { Point } from "../../results/schema.ts";
import { defineScenario, type ScenarioContext } from "../scenario.ts";
import {
  aboutStorm,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "../setup/storm-setup.ts";
import { stormPoint } from "../storm-point.ts";
import {
  demandRounds,
  measureStorm,
  poissonMs,
  prepareRounds,
  returnLane,
  roundsOf,
  warmUp,
} from "../storm-returns.ts";
import { type ReactionKind, ReactorLoad, reactorConfig } from "./reactor-load.ts";

type Reactions = StormParameters & {
  readonly rate: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly reactions: number;
  readonly kind: string;
  readonly returnBytes: string;
  readonly seed: number;
};

const fun = "test.ping";

export const reactions = defineScenario<Reactions>({
  name: "reactions",
  version: 2,
  ownMaster: "needs a reactor of its own",
  question: "Are returns still answered in time while the reactor reacts to a thousand events a second?",
  defaults: {
    ...{ ...stormDefaults, minions: 200, rate: 500, seconds: 10, warmUp: 50 },
    ...{ reactions: 1_000, kind: "runner", returnBytes: "64", seed: 1 },
  },
  about: {
    ...aboutStorm,
    rate: "returns a second, at random times (Poisson)",
    seconds: "of returns, first alone, then beside the reactor",
    warmUp: "returns of each minion before them that do not count",
    reactions: "events a second, each of which starts one reaction",
    kind: "of the reactions: runner or wheel",
    returnBytes: "size of the returned text",
    seed: "of arrival times",
  },
  demand: demandRounds,
  masterConfig: (p) => ({ ...versionConfig(p), ...reactorConfig(p.kind as ReactionKind) }),
  run(context) {
    const { master, parameters: p } = context;
    return withStorm(context, async (site) => {
      const load = new ReactorLoad(master, p.kind as ReactionKind);
      try {
        await warmUp(context, site, { rounds: p.warmUp, fun, returnBytes: p.returnBytes, seed: p.seed });
        const alone = await span(context, site, undefined);
        const beside = await span(context, site, load);
        const [before, during] = [alone, beside].map((point) => point.operations.return?.percentilesUs.p99 ?? 0);
        beside.figures.returnP99ToAlone = (during ?? 0) / Math.max(1, before ?? 0);
        return [alone, beside];
      } finally {
        load.close();
      }
    });
  },
});

async function span(
  context: ScenarioContext<Reactions>,
  site: StormSite,
  load: ReactorLoad | undefined,
): Promise<Point> {
  const { parameters: p } = context;
  const total = roundsOf(p) * p.minions;
  const bodies = { rounds: roundsOf(p), fun, returnBytes: p.returnBytes, seed: p.seed };
  const jids = await prepareRounds(context, site, bodies);
  const label = load === undefined ? "alone" : "beside the reactor";
  const beside = load === undefined ? undefined : (isOver: () => boolean) => load.fireUntil(isOver, p.reactions);
  const lanes = [{ lane: returnLane, plannedMs: poissonMs(total, p.rate, p.seed) }];
  const measured = await measureStorm(context, site, { label: `returns ${label}`, jids, total, lanes, beside });
  const { sent = 0, perSecond = 0, lost = 0 } = measured.beside ?? {};
  return stormPoint({
    ...{ label, parameters: { ...p, hasReactor: load !== undefined }, outcome: measured.outcome, span: measured.span },
    correctness: measured.correctness,
    figures: load === undefined ? {} : { eventsFired: sent, reactionsPerSecond: perSecond, reactionsLost: lost },
  });
}
