import { decisions } from "./decisions.ts";
import { GoldenFleet } from "./fleet.ts";
import { jobsRunner, jobsSearch, keysOfOwn, toolPlans } from "./plans.ts";
import { replayTopics } from "./replay.ts";

replayTopics(
  "what commands on jobs and keys printed on Salt's fleet is printed on ours",
  [
    // The output shows the history of jobs, so no other test may add to it meanwhile.
    [jobsSearch, keysOfOwn],
    [jobsRunner],
    [...toolPlans, { topic: "salt_key_fleet" }],
  ],
  decisions,
  () => GoldenFleet.start({}, false),
);
