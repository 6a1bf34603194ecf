import { decisions } from "./decisions.ts";
import { commandPlans } from "./plans.ts";
import { replayTopics } from "./replay.ts";

replayTopics("what commands printed on Salt's fleet is printed on ours", [commandPlans], decisions);
