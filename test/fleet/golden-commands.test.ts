import { decisions } from "./golden-decisions.ts";
import { commandPlans } from "./golden-plans.ts";
import { replayTopics } from "./golden-replay.ts";

replayTopics("what commands printed on Salt's fleet is printed on ours", [commandPlans], decisions);
