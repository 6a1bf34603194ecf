/** Question: how much memory and CPU do connected minions cost an idle master, beside bare sockets in Node with the same connections? */
import { setTimeout as wait } from "node:timers/promises";
import { besideOthers } from "../load/self-check.ts";
import { measureBareSockets } from "../peers/bare-sockets.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./measures/accounting.ts";
import { cpuOf, measured } from "./measures/measure.ts";
import { storageOf } from "./measures/storage.ts";
import { untilRest } from "./measures/usage.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { histogramOf, oneByOne } from "./setup/operations.ts";
import {
  aboutStorm,
  demandStorm,
  publishJobs,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";

type IdleHold = StormParameters & { readonly seconds: number; readonly jobs: number; readonly bare: boolean };

/** By default libzmq reads and writes up to 8,192 bytes at once, and keeps a buffer of this size for each connection. */
const loweredBatchBytes = 1_024;
const fun = "test.ping";
const lane = "return";

export const idleHold = defineScenario<IdleHold>({
  name: "idle-hold",
  version: 1,
  ownMaster: "compares the master's whole memory with that of bare connections",
  question:
    "How much memory and CPU do connected minions cost an idle master, beside bare sockets in Node that hold the same connections?",
  defaults: { ...stormDefaults, seconds: 30, jobs: 3, bare: true },
  about: {
    ...aboutStorm,
    seconds: "of quiet, in which CPU is measured",
    jobs: "answered by everybody before, so that each connection was used both ways",
    bare: "whether a ROUTER and a PUB in a process of their own hold as many connections afterwards, for comparison",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions * p.jobs),
  masterConfig: versionConfig,
  async run(context) {
    const { parameters: p } = context;
    const point = await withStorm(context, (site) => hold(context, site));
    if (p.bare) Object.assign(point.figures, await bareFigures(context, point.memory.rssBytes));
    return [point];
  },
});

async function hold(context: ScenarioContext<IdleHold>, site: StormSite): Promise<Point> {
  const { master, parameters: p, progress, signal } = context;
  const duplicatesBefore = await duplicatesSeen(master);
  const jids = await publishJobs(context, p.jobs, fun);
  await site.storm.prepareReturns({ lane, jids, fun, returnBytes: "64", seed: 1 });
  const outcome = await site.phase(progress, "use each connection", p.jobs * p.minions, () =>
    site.storm.run([{ lane }], { signal }),
  );
  const phase = progress.phase("hold", p.seconds);
  const { span } = await measured(master, signal, async () => {
    for (let second = 0; second < p.seconds; second += 1) {
      await wait(1_000, undefined, { signal });
      phase.step();
    }
  });
  phase.end();
  const total = outcome.lanes[lane];
  return {
    label: "idle",
    parameters: { ...p },
    wallMs: span.wallMs,
    operations: { hold: oneByOne(histogramOf([]), span.wallMs) },
    // Without operations, the figure is per minion.
    cpu: cpuOf(span, p.minions),
    memory: span.memory,
    storage: storageOf(span, p.minions),
    series: span.series,
    correctness: await account(
      master,
      { jids, ids: site.storm.ids() },
      {
        acknowledged: total?.completed ?? 0,
        duplicatesBefore,
        errors: { "no reply": total?.timedOut ?? 0, "refused replies": total?.failed ?? 0 },
      },
    ),
    generator: besideOthers(outcome.generator, span.otherShare),
    figures: {
      cpuMsPerSecond: span.cpuMs / (span.wallMs / 1_000),
      rssBytes: span.memory.rssBytes,
      rssBytesPerMinion: span.memory.rssBytes / p.minions,
    },
  };
}

async function bareFigures(
  { master, parameters: p, progress, signal }: ScenarioContext<IdleHold>,
  rssBytes: number,
): Promise<Record<string, number>> {
  const phase = progress.phase("the same connections on bare sockets");
  // The master has lost all its connections and may be measured again after this.
  await untilRest(master, signal);
  const bare = await measureBareSockets({ minionCount: p.minions });
  const lowered = await measureBareSockets({ minionCount: p.minions, batchBytes: loweredBatchBytes });
  phase.end();
  return {
    bareRssBytes: bare.rssBytes,
    bareEmptyRssBytes: bare.emptyRssBytes,
    rssAboveBareBytes: rssBytes - bare.rssBytes,
    bareLoweredBatchesRssBytes: lowered.rssBytes,
    rssAboveBareLoweredBatchesBytes: rssBytes - lowered.rssBytes,
  };
}
