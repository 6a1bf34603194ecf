import { after, before, describe } from "node:test";
import { ChangedMasters } from "../../fleet/golden/changed-masters.ts";
import { typeEvents } from "../../fleet/golden/events.ts";
import { GoldenFleet } from "../../fleet/golden/fleet.ts";
import { describeTopic, Replay } from "../../fleet/golden/replay.ts";
import { describeWaits, typeWaits } from "../../fleet/golden/waits.ts";
import { openReleases } from "../salt-releases.ts";
import { decisionsBeside } from "./decisions.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;

describe("which command waits for which minions with Salt's minions on our master, as on Salt's", {
  skip,
  timeout: 900_000,
}, () => {
  const decisions = decisionsBeside(release, () => undefined);
  let fleet: GoldenFleet | undefined;
  let replay: Replay;

  before(async () => {
    if (release === undefined) return;
    fleet = await GoldenFleet.start({}, true, { master: "ours", minion: release });
    replay = new Replay(fleet, true);
    await typeEvents(fleet, replay, decisions);
    await typeWaits(fleet, replay, decisions);
    const masters = new ChangedMasters(fleet, replay, decisions);
    await masters.typeGreedy();
    await masters.typePresence();
    await masters.typeWithoutCaches();
  });
  after(() => fleet?.close());

  describeWaits(() => replay, decisions);
  for (const topic of ["events", "greedy", "unique_jid_presence", "not_connected", "minion_data_cache_off"]) {
    describeTopic(topic, () => replay, decisions);
  }
});
