/** Metrics of requests by minions and operators beyond a bound, and of what a member of a cluster shares of its minions. Part of the metrics table. */
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

/** Only on a member of a cluster. */
export const clusterMinions = {
  saltworks_cluster_minions: metric(
    "gauge",
    ["member"],
    'Minions that are connected to each other member, as it tells. `saltworks_minions{state="connected"}` has those of all members, each once.',
  ),
  saltworks_cluster_presence_total: metric(
    "counter",
    ["what"],
    "Messages about connected minions: `sent`, `messages` of others, whole `lists` sent, `gaps` after which a list is asked for, `unreadable` ones. `gone`: members that fell silent. `dropped`: members or minions beyond `presenceMembersMax` or `presenceIdsOfMemberMax`.",
  ),
  saltworks_cluster_minion_data_total: metric(
    "counter",
    ["outcome"],
    "Parts of minions' data, which are grains with pillar, or a mine. Of this member: `sent`, `refused` removals of what had changed, `failures` to send, after which it is tried again. Of all members: `received`, and of these `applied` here, `kept` as they were because of a later change here, `ignored` because they do not open. `dropped`: too large to send, or without an accepted key beyond `sharedKeylessMax`. `faults`: losses of the stream.",
  ),
  saltworks_cluster_minion_data_waiting: metric("gauge", [], "Parts of minions' data that are not sent yet."),
};
