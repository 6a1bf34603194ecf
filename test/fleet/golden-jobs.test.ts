import { decisions } from "./golden-decisions.ts";
import { GoldenFleet } from "./golden-fleet.ts";
import { keyLabConfigDir, prepareKeyLab } from "./golden-keylab.ts";
import { replayTopics } from "./golden-replay.ts";

const oneLane = (): string => "one";

replayTopics(
  "what commands on jobs and keys printed on Salt's fleet is printed on ours",
  [
    // The history of jobs is part of what is shown: nobody else may add to it meanwhile.
    [
      { topic: "jobs_search", laneOf: oneLane },
      { topic: "salt_key", laneOf: oneLane, configDir: keyLabConfigDir, beforeEach: prepareKeyLab },
    ],
    [{ topic: "jobs_runner", laneOf: oneLane }],
    [
      { topic: "batch" },
      { topic: "manage_runner" },
      { topic: "salt_call" },
      { topic: "salt_cp", laneOf: oneLane },
      { topic: "salt_key_fleet" },
    ],
  ],
  decisions,
  () => GoldenFleet.start({}, false),
);
