/** Question: what does a pillar cost the master, with files alone or with a command and a git repository as further sources? */
import { measured } from "../measures/measure.ts";
import { defineScenario } from "../scenario.ts";
import { highstateConfig, writeSite } from "../setup/highstate-site.ts";
import {
  aboutStorm,
  demandStorm,
  type StormParameters,
  stormDefaults,
  versionConfig,
  withStorm,
} from "../setup/storm-setup.ts";
import { answered, stormPoint } from "../storm-point.ts";

type Pillars = StormParameters & {
  readonly rounds: number;
  readonly warmUp: number;
  readonly askers: number;
  readonly isFromGit: boolean;
};

const lane = "pillar";
/** The tree's states play no part here. */
const tree = { files: 12, fileBytes: 64, states: 1, managed: 1 };

export const pillars = defineScenario<Pillars>({
  name: "pillars",
  version: 1,
  ownMaster: "needs pillars and repositories of its own",
  question: "What does a pillar cost the master, with files alone or with a command and git as further sources?",
  defaults: { ...stormDefaults, minions: 200, rounds: 5, warmUp: 1, askers: 20, isFromGit: true },
  about: {
    ...aboutStorm,
    rounds: "pillars of each minion",
    warmUp: "pillars of each minion before them that do not count",
    askers: "connections that questions come over",
    isFromGit: "whether pillars come from a git repository and from a command; otherwise from files",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions * (p.rounds + p.warmUp)),
  prepare: (p) => writeSite(tree, p.isFromGit),
  masterConfig: (p) => ({ ...versionConfig(p), ...highstateConfig(p.isFromGit) }),
  run(context) {
    const { master, parameters: p, progress, signal } = context;
    return withStorm(context, async (site) => {
      const ask = async (label: string, rounds: number) => {
        const asked = { asking: "_pillar", rounds, connections: p.askers, target: "", textBytes: 0 } as const;
        await site.storm.prepareAsks({ lane, ...asked });
        return await measured(master, signal, () =>
          site.phase(progress, label, rounds * p.minions, () => site.storm.run([{ lane }], { signal })),
        );
      };
      if (p.warmUp > 0) await ask("warm up", p.warmUp);
      const { span, result: outcome } = await ask("pillars", p.rounds);
      const count = p.rounds * p.minions;
      return [
        stormPoint({
          label: `${count} pillars`,
          parameters: { ...p },
          outcome,
          span,
          correctness: answered(outcome),
          figures: { cpuMsPerPillar: span.cpuMs / count },
        }),
      ];
    });
  },
});
