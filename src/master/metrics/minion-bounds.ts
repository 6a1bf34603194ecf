/** Metrics of requests by minions and operators beyond a bound. Part of the metrics table. */
import { metric } from "./metric.ts";

export const minionBounds = {
  saltworks_minion_refusals_total: metric(
    "counter",
    ["worker", "reason"],
    "Requests of accepted minions, or parts of them, that were refused: `events.overRequest` (`minionEventsMax`, `minionEventBytesMax`), `events.forbiddenTag`, `mine.tooLarge` (`mine_max_bytes`, `mine_max_functions`), `grains.tooLarge` (`grains_max_bytes`), `peers.malformed`, `peers.denied` and `peers.unproven` of publishes and runner calls, `mines.targetsRefused` of requests for mines. `facts.unreadable`, `mines.unreadable`: stored data that could not be read when it was needed.",
  ),
  saltworks_pushes_refused_total: metric(
    "counter",
    ["bound"],
    "Refused pieces of files that minions pushed (`cp.push`), by the option that bounds them. `uncounted`: after a start the pushed files of all minions were not counted in time.",
  ),
  saltworks_targets_refused_total: metric(
    "counter",
    ["worker"],
    "Targets that a worker did not match, because too many wait (`matchesPendingMax`) or one takes too long (`matchCpuMsMax`).",
  ),
};
