/** Question: what does it cost the master when many minions apply their highstate at once, on a tree of many files? */
import { SaltworksError } from "../../../src/errors.ts";
import type { Point } from "../../results/schema.ts";
import { defineScenario, type ScenarioContext } from "../scenario.ts";
import { highstateConfig, highstateRequests, type Tree, writeSite } from "../setup/highstate-site.ts";
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
} from "../setup/storm-setup.ts";
import { stormPoint } from "../storm-point.ts";
import { measureStorm } from "../storm-returns.ts";

type Highstate = StormParameters &
  Tree & { readonly warmUp: number; readonly isFirst: boolean; readonly isFromGit: boolean };

const lane = "request";
const fun = "state.highstate";
/** Hash twice, place, and two pieces, of which the second is empty. */
const requestsPerFileMost = 5;

export const highstate = defineScenario<Highstate>({
  name: "highstate",
  version: 1,
  ownMaster: "needs a tree of files and pillars of its own",
  question: "What does it cost the master when many minions apply their highstate at once, on a tree of many files?",
  defaults: {
    ...stormDefaults,
    minions: 200,
    files: 1_000,
    fileBytes: 2_048,
    states: 10,
    managed: 20,
    isFirst: true,
    isFromGit: false,
    warmUp: 1,
  },
  about: {
    ...aboutStorm,
    files: "of the tree, sls files among them",
    fileBytes: "of each file",
    states: "sls files, which every minion applies",
    managed: "files that one minion's states copy; each minion has other ones",
    isFirst: "whether the minions fetch the files; otherwise they have them, and compare hashes",
    isFromGit: "whether files and pillars come from git repositories, and pillars from a command, too",
    warmUp: "highstates of each minion before, that do not count",
  },
  demand: (p, masterHost) => {
    if (p.files < p.states + p.managed + 1)
      throw new SaltworksError(
        "USAGE",
        `highstate: files takes at least ${p.states + p.managed + 1}: top.sls, states and managed`,
      );
    demandStorm(p, masterHost, p.minions * (p.states + p.managed + 6) * requestsPerFileMost);
  },
  prepare: (p) => writeSite(p, p.isFromGit),
  masterConfig: (p) => ({ ...versionConfig(p), ...highstateConfig(p.isFromGit) }),
  run(context) {
    const { master, parameters: p } = context;
    return withStorm(context, async (site) => {
      const follower = await follow(master);
      try {
        for (let round = 0; round < p.warmUp; round += 1) await apply(context, site, "warm up");
        return [await apply(context, site, "highstates")];
      } finally {
        follower.close();
      }
    });
  },
});

async function apply(context: ScenarioContext<Highstate>, site: StormSite, label: string): Promise<Point> {
  const { parameters: p } = context;
  const jids = await publishJobs(context, 1, fun);
  const [jid = ""] = jids;
  const scripts = site.storm
    .ids()
    .map((id, index) => highstateRequests({ id, index, jid, tree: p, isFirst: p.isFirst }));
  await site.storm.prepareScripts({ lane, scripts });
  const requestsEach = scripts[0]?.length ?? 0;
  const work = { label, jids, total: requestsEach * p.minions, lanes: [{ lane }] };
  const { span, outcome, correctness } = await measureStorm(context, site, work);
  return stormPoint({
    label,
    parameters: { ...p },
    outcome,
    span,
    correctness,
    figures: { requestsPerHighstate: requestsEach, cpuMsPerHighstate: span.cpuMs / p.minions },
  });
}
