import { after, before, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SeenEvent } from "../interop/event-watch.ts";
import { decisions } from "./golden-decisions.ts";
import { typeEvents } from "./golden-events.ts";
import { goldenIds } from "./golden-files.ts";
import { GoldenFleet } from "./golden-fleet.ts";
import { describeTopic, Replay, topicLanes } from "./golden-replay.ts";

const away = "es2";
const awayTimeoutMs = 60_000;
const pollMs = 250;

/** Presence is verified contact here: a minion that stands still is away after this many seconds. */
const quickPresence = { presence_timeout: 10 };
const uniqueJids = { unique_jid: true, presence_events: true, loop_interval: 5 };

/**
 * es2's data are gone as long as those are typed that ask who is expected then. In Salt its directory was moved away, and put back
 * without its grains; here the master is told to forget, and is told again.
 */
async function arrangeGreedy(fleet: GoldenFleet, name: string): Promise<void> {
  if (name === "grain_no_cache_preview") await fleet.run(["salt-run", "cache.clear_all", `tgt=${away}`]);
  if (name === "only_mine_preview") {
    await fleet.run(["salt", away, "mine.update"]);
    await fleet.run(["salt-run", "cache.clear_grains", `tgt=${away}`]);
  }
  if (name === "restored") {
    await fleet.run(["salt", away, "saltutil.refresh_pillar"]);
    await fleet.run(["salt", away, "mine.update"]);
  }
}

/** The rounds in which the minions of a new master appear begin with the change. */
async function untilAllTold(fleet: GoldenFleet, name: string): Promise<void> {
  if (name !== "presence") return;
  const watch = await fleet.watchEvents();
  const isWhole = ({ tag, data }: SeenEvent) =>
    tag === "salt/presence/present" && (data.get("present") as unknown[]).length === goldenIds.length;
  await watch.until("a round with all minions", isWhole, awayTimeoutMs).finally(() => watch.close());
}

describe("what depends on the master's options or on its absence, as on Salt's fleet", { timeout: 600_000 }, () => {
  let fleet: GoldenFleet;
  let replay: Replay;
  const topics = [
    "events",
    "greedy",
    "unique_jid_presence",
    "not_connected",
    "minion_data_cache_off",
    "job_cache_off",
    "master_down",
  ];

  before(async () => {
    fleet = await GoldenFleet.start();
    replay = new Replay(fleet);
    await typeEvents(fleet, replay, decisions.notYet);
    await run({ topic: "greedy", laneOf: () => "one", beforeEach: arrangeGreedy });
    await fleet.restartMaster({ ...quickPresence, ...uniqueJids });
    await run({ topic: "unique_jid_presence", laneOf: () => "one", beforeEach: untilAllTold });
    fleet.freeze(away);
    await untilAway();
    await run({ topic: "not_connected" });
    fleet.thaw(away);
    await fleet.restartMaster({ minion_data_cache: false, job_cache: false });
    await run({ topic: "minion_data_cache_off" }, { topic: "job_cache_off", laneOf: () => "one" });
    await fleet.killMaster();
    await run({ topic: "master_down" });
  });
  after(() => fleet?.close());

  async function run(...plans: Parameters<typeof topicLanes>[0][]): Promise<void> {
    await replay.runLanes(plans.flatMap((plan) => topicLanes(plan, decisions)));
  }

  async function untilAway(): Promise<void> {
    const deadlineMs = performance.now() + awayTimeoutMs;
    while (!(await fleet.run(["salt-run", "manage.not_present", "--out=json"])).stdout.includes(`"${away}"`)) {
      if (performance.now() > deadlineMs) throw new Error(`${away} is present after ${awayTimeoutMs} ms`);
      await delay(pollMs);
    }
  }

  for (const topic of topics) describeTopic(topic, () => replay, decisions);
});
