import { natsServerSkip } from "../../services/nats-server.ts";
import { decisions } from "../golden/decisions.ts";
import { goldenIds } from "../golden/files.ts";
import { GoldenFleet } from "../golden/fleet.ts";
import { jobsRunner, jobsSearch, keysOfOwn, toolPlans } from "../golden/plans.ts";
import { allOurs } from "../golden/programs.ts";
import { replayTopics } from "../golden/replay.ts";
import { memberConfigs } from "./members.ts";

replayTopics(
  "what commands on jobs and keys printed on Salt's fleet is printed on three members of a cluster, among which the minions are spread",
  [[jobsSearch, keysOfOwn], [jobsRunner], [...toolPlans, { topic: "salt_key_fleet" }]],
  decisions,
  async () => {
    // The level of a command's own log comes from the file that the command reads.
    const members = (await memberConfigs(3, {})).map(({ log_level: _level, ...config }) => config);
    const [first, ...others] = members;
    return await GoldenFleet.start(first, false, allOurs, goldenIds, others);
  },
  await natsServerSkip(),
);
