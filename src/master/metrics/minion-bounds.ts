/** Metrics of what minions and operators sent beyond a bound. Part of the metrics table. */
import { metric } from "./metric.ts";

export const minionBounds = {
  saltworks_minion_refusals_total: metric(
    "counter",
    ["worker", "reason"],
    "What accepted minions sent and was not taken: `events.overRequest` (`minionEventsMax`, `minionEventBytesMax`), `events.forbiddenTag`, `mine.tooLarge` (`mine_max_bytes`, `mine_max_functions`), `grains.tooLarge` (`grains_max_bytes`), `peers.malformed`, `peers.denied` and `peers.unproven` of publishes and runner calls, `mines.targetsRefused` of questions for mines; `facts.unreadable` and `mines.unreadable` could not be read when they were wanted.",
  ),
  saltworks_pushes_refused_total: metric(
    "counter",
    ["bound"],
    "Pieces of files that minions pushed (`cp.push`) and that were refused, by the option that bounds them; `uncounted`: the files of all minions were not counted in time after a start.",
  ),
  saltworks_targets_refused_total: metric(
    "counter",
    ["worker"],
    "Targets that a worker did not match, because too many wait (`matchesPendingMax`) or one takes too long (`matchCpuMsMax`).",
  ),
};
