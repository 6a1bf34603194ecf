/** Question: are returns still answered in time, and all of them, while the whole fleet authenticates? */
import { planSchedule } from "../load/open-loop.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./accounting.ts";
import { measured } from "./measure.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { errorsOf, stormPoint } from "./storm-point.ts";
import {
  aboutStorm,
  openStorm,
  publishJobs,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
} from "./storm-setup.ts";

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
  version: 1,
  question: "Are returns still answered in time, and all of them, while the whole fleet authenticates?",
  defaults: {
    ...stormDefaults,
    rate: 1_000,
    seconds: 10,
    rounds: 3,
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
  masterConfig: versionConfig,
  async run(context) {
    const { master, parameters: p, progress, signal } = context;
    const site = await openStorm(master, p, progress);
    try {
      const jids = await publishJobs(master, p.warmUp, fun, progress);
      await site.storm.prepareReturns({ lane: "return", jids, fun, returnBytes: p.returnBytes, seed: p.seed });
      await site.phase(progress, "warm up", jids.length * p.minions, () =>
        site.storm.run([{ lane: "return" }], { signal }),
      );
      const alone = await span(context, site, false);
      const beside = await span(context, site, true);
      const [before, during] = [alone, beside].map((point) => point.operations.return?.percentilesUs.p99 ?? 0);
      beside.figures.returnP99ToAlone = (during ?? 0) / Math.max(1, before ?? 0);
      return [alone, beside];
    } finally {
      await site.storm.close();
    }
  },
});

async function span(
  { master, parameters: p, progress, signal }: ScenarioContext<AuthBesideReturns>,
  site: StormSite,
  hasAuths: boolean,
): Promise<Point> {
  const rounds = Math.max(1, Math.round((p.rate * p.seconds) / p.minions));
  const count = rounds * p.minions;
  const jids = await publishJobs(master, rounds, fun, progress);
  await site.storm.prepareReturns({ lane: "return", jids, fun, returnBytes: p.returnBytes, seed: p.seed });
  if (hasAuths) await site.storm.prepareAuths({ lane: "auth", rounds: p.rounds, hasToken: p.hasToken });
  const seconds = count / p.rate;
  const { plannedMs } = planSchedule({ ratePerSecond: p.rate, seconds, arrivals: "poisson", seed: p.seed });
  const lanes = [{ lane: "return", plannedMs }, ...(hasAuths ? [{ lane: "auth" }] : [])];
  const duplicatesBefore = await duplicatesSeen(master);
  const label = hasAuths ? "beside authentications" : "alone";
  const total = count + (hasAuths ? p.rounds * p.minions : 0);
  const { span: spent, result: outcome } = await measured(master, signal, () =>
    site.phase(progress, `returns ${label}`, total, () =>
      site.storm.run(lanes, { signal, verifyMax, timeoutMs: p.authTimeoutMs, tries: triesMax }),
    ),
  );
  const returns = outcome.lanes.return;
  const acknowledged = (returns?.completed ?? 0) - (returns?.wrong ?? 0);
  return stormPoint({
    label,
    parameters: { ...p, hasAuths },
    outcome,
    span: spent,
    correctness: await account(
      master,
      { jids, ids: site.storm.ids() },
      { acknowledged, duplicatesBefore, errors: errorsOf(outcome) },
    ),
    figures: { returnsRepeated: returns?.repeated ?? 0, authsRepeated: outcome.lanes.auth?.repeated ?? 0 },
  });
}
