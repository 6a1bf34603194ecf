/** Question: what does it cost to read the mine of some minions out of a fleet, and how long do readers wait? */
import { planSchedule } from "../load/open-loop.ts";
import { measured } from "./measures/measure.ts";
import { defineScenario } from "./scenario.ts";
import { fillMines } from "./setup/asks.ts";
import {
  aboutStorm,
  demandStorm,
  type StormParameters,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { answered, stormPoint } from "./storm-point.ts";

type MineRead = StormParameters & {
  readonly rate: number;
  readonly seconds: number;
  readonly target: string;
  readonly mineBytes: number;
  readonly readers: number;
  readonly seed: number;
};

const lane = "mine_get";

export const mineRead = defineScenario<MineRead>({
  name: "mine-read",
  version: 1,
  question: "What does it cost to read the mine of some minions out of a fleet, and how long do readers wait?",
  defaults: {
    ...stormDefaults,
    rate: 100,
    seconds: 10,
    target: "sim-1?",
    mineBytes: 256,
    readers: 100,
    seed: 1,
  },
  about: {
    ...aboutStorm,
    rate: "reads a second, at random times (Poisson)",
    seconds: "how long",
    target: "whose mine is read, as a glob; ids are sim-0, sim-1, ..",
    mineBytes: "in each minion's mine",
    readers: "connections that reads come over",
    seed: "of arrival times",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.rate * p.seconds),
  masterConfig: versionConfig,
  run(context) {
    const { master, parameters: p, progress, signal } = context;
    return withStorm(context, async (site) => {
      await fillMines(context, site);
      const { plannedMs } = planSchedule({
        ratePerSecond: p.rate,
        seconds: p.seconds,
        arrivals: "poisson",
        seed: p.seed,
      });
      const rounds = Math.ceil(plannedMs.length / p.minions);
      const ask = { asking: "_mine_get", rounds, connections: p.readers, target: p.target, textBytes: 0 } as const;
      await site.storm.prepareAsks({ lane, ...ask });
      const { span, result: outcome } = await measured(master, signal, () =>
        site.phase(progress, `reads at ${p.rate}/s`, plannedMs.length, () =>
          site.storm.run([{ lane, plannedMs }], { signal }),
        ),
      );
      const bytes = outcome.lanes[lane]?.sentBytes ?? 0;
      return [
        stormPoint({
          label: `${p.rate} reads/s of ${p.target}`,
          parameters: { ...p },
          outcome,
          span,
          correctness: answered(outcome),
          figures: { requestBytesMean: bytes / Math.max(1, plannedMs.length) },
        }),
      ];
    });
  },
});
