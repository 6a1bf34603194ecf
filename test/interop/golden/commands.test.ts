import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { GoldenFleet } from "../../fleet/golden/fleet.ts";
import { commandPlans, jobsRunner, toolPlans } from "../../fleet/golden/plans.ts";
import { describeTopic, Replay, topicLanes } from "../../fleet/golden/replay.ts";
import { describeTargets, TargetReplay } from "../../fleet/golden/targets.ts";
import { openReleases } from "../salt-releases.ts";
import { askedMinion, asksOfRelease, decisionsBeside, ofReleaseAlone } from "./decisions.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const plans = [...commandPlans, ...toolPlans];

describe("what commands printed on Salt's fleet is printed with Salt's minions on our master", {
  skip,
  timeout: 900_000,
}, () => {
  const decisions = decisionsBeside(release, () => salts);
  const fleets: GoldenFleet[] = [];
  let replay: Replay;
  /** Commands that are typed on a master of the minions' release. */
  let salts: Replay | undefined;
  let targets: TargetReplay;

  before(async () => {
    if (release === undefined) return;
    const fleet = await GoldenFleet.start({}, true, { master: "ours", minion: release });
    fleets.push(fleet);
    replay = new Replay(fleet, true);
    targets = await TargetReplay.run(fleet);
    await fleet.untilAtRest();
    // Runs alone, because it shows which jobs run.
    await replay.runLanes(topicLanes(jobsRunner, decisions));
    await replay.runLanes(plans.flatMap((plan) => topicLanes(plan, decisions)));
    const theirs = await GoldenFleet.start({}, true, { master: release, minion: release }, [askedMinion]);
    fleets.push(theirs);
    salts = new Replay(theirs);
    await salts.runLanes(plans.flatMap((plan) => topicLanes(plan, asksOfRelease)));
  });
  after(async () => {
    targets?.close();
    await Promise.all(fleets.map((fleet) => fleet.close()));
  });

  describe("targets", () => describeTargets(() => targets));
  for (const { topic } of [jobsRunner, ...plans]) describeTopic(topic, () => replay, decisions);

  it("what hangs on how the release is installed was asked of its own master", () => {
    for (const key of ofReleaseAlone) assert.equal(typeof salts?.asRecorded(key)?.stdout, "string", key);
  });
});
