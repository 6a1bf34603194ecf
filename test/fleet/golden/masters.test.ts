import { after, before, describe } from "node:test";
import { ChangedMasters } from "./changed-masters.ts";
import { decisions } from "./decisions.ts";
import { typeEvents } from "./events.ts";
import { GoldenFleet } from "./fleet.ts";
import { describeTopic, Replay } from "./replay.ts";

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
    replay = new Replay(fleet, true);
    await typeEvents(fleet, replay, decisions);
    const masters = new ChangedMasters(fleet, replay, decisions);
    await masters.typeGreedy();
    await masters.typePresence();
    await masters.typeWithoutCaches();
    await fleet.killMaster();
    await masters.type({ topic: "master_down", processes: /^salt_/ });
  });
  after(() => fleet?.close());

  for (const topic of topics) describeTopic(topic, () => replay, decisions);
});
