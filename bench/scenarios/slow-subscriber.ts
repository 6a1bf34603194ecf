/** Question: what does an event subscriber that never reads cost the master, and do the others still get every event? */
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import type { Point } from "../results/schema.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import type { MasterUnderTest } from "./setup/master-contract.ts";
import {
  aboutStorm,
  demandStorm,
  type Follower,
  follow,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { stormPoint } from "./storm-point.ts";
import { measureStorm, prepareRounds, returnLane } from "./storm-returns.ts";

type SlowSubscriber = StormParameters & {
  readonly returns: number;
  readonly warmUp: number;
  readonly returnBytes: string;
  readonly slow: number;
  readonly seed: number;
};

const fun = "test.ping";

export const slowSubscriber = defineScenario<SlowSubscriber>({
  name: "slow-subscriber",
  version: 1,
  ownMaster: "fills the master's event buffers",
  question: "What does an event subscriber that never reads cost the master, and do the others still get every event?",
  defaults: { ...stormDefaults, returns: 20, warmUp: 10, returnBytes: "4096", slow: 1, seed: 1 },
  about: {
    ...aboutStorm,
    returns: "returns of each minion at each point, in a closed loop",
    warmUp: "returns of each minion before them that do not count",
    returnBytes: "size of the returned text: what fills the slow one's buffer",
    slow: "subscribers that connect and never read, at the second point",
    seed: "of sizes",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions * Math.max(p.warmUp, p.returns)),
  masterConfig: versionConfig,
  run(context) {
    const { master, parameters: p } = context;
    return withStorm(context, async (site) => {
      const follower = await follow(master);
      const stuck: Socket[] = [];
      try {
        if (p.warmUp > 0) await storm(context, site, follower, p.warmUp, "warm up");
        const points = [await storm(context, site, follower, p.returns, "everybody reads")];
        for (let index = 0; index < p.slow; index += 1) stuck.push(await connectAndSleep(master));
        points.push(await storm(context, site, follower, p.returns, "beside one that does not"));
        return points;
      } finally {
        for (const socket of stuck) socket.destroy();
        follower.close();
      }
    });
  },
});

async function storm(
  context: ScenarioContext<SlowSubscriber>,
  site: StormSite,
  follower: Follower,
  returns: number,
  label: string,
): Promise<Point> {
  const { parameters: p } = context;
  const jids = await prepareRounds(context, site, { rounds: returns, fun, returnBytes: p.returnBytes, seed: p.seed });
  const before = follower.counts.returns;
  const total = returns * p.minions;
  const lanes = [{ lane: returnLane }];
  const { span, outcome, correctness } = await measureStorm(context, site, { label, jids, total, lanes });
  await follower.untilSeen(before + total);
  const events = follower.counts.returns - before;
  const missed = events < total ? { "events that the reader missed": total - events } : {};
  const [firstRss = 0] = span.series.values.rssBytes ?? [];
  return stormPoint({
    label,
    parameters: { ...p },
    outcome,
    span,
    correctness: { ...correctness, errors: { ...correctness.errors, ...missed } },
    figures: { returnEvents: events, rssGrowthBytes: span.memory.rssBytes - firstRss },
  });
}

function connectAndSleep(master: MasterUnderTest): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(join(master.socketDirectory, "master_event_pub.ipc"));
    socket.pause();
    socket.once("error", reject);
    socket.once("connect", () => resolve(socket));
  });
}
