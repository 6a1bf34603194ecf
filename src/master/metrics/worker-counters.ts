/** Samples a worker's counters as metrics. */
import { diskFaultKinds } from "../../store/disk/faults.ts";
import type { WorkerMeasures } from "../../workers/measures/measures.ts";
import type { Samples } from "./samples.ts";

const refusalPrefix = "refused.";
const targetPrefix = "targets.";
/** Reasons that are shown at 0 from the start, because a counter that first appears at 1 has no rate. */
const usualRefusals = [
  "algorithm",
  "authTooLarge",
  "authWithoutId",
  "badSeal",
  "badToken",
  "clearTooLarge",
  "credential",
  "expired",
  "fault",
  "idMismatch",
  "invalidId",
  "malformed",
  "noSession",
  "notAccepted",
  "notMap",
  "sessionExpired",
  "unreadable",
  "version",
];
/** Refusals of accepted minions' requests, by the names of the worker's counters. */
const minionRefusals = [
  "events.forbiddenTag",
  "events.overRequest",
  "facts.unreadable",
  "grains.tooLarge",
  "mine.tooLarge",
  "mines.targetsRefused",
  "mines.unreadable",
  "peers.denied",
  "peers.malformed",
  "peers.unproven",
  "syndics.idsDropped",
  "syndics.overEvents",
  "syndics.overRequest",
  "syndics.refused",
] as const;
const authResults = ["accept", "pend", "reject", "denied", "full", "noRoom", "refused"] as const;

export function sampleWorkerCounters(samples: Samples, worker: string, counters: WorkerMeasures["counters"]): void {
  const count = (name: string): number => counters[name] ?? 0;
  const seen = Object.keys(counters).filter((name) => name.startsWith(refusalPrefix));
  const reasons = new Set([...usualRefusals, ...seen.map((name) => name.slice(refusalPrefix.length))]);
  for (const reason of reasons) {
    samples.set("saltworks_refusals_total", { worker, reason }, count(`${refusalPrefix}${reason}`));
  }
  for (const reason of minionRefusals) {
    samples.set("saltworks_minion_refusals_total", { worker, reason }, count(reason));
  }
  samples.set("saltworks_targets_refused_total", { worker }, count("matches.refused"));
  samples.set("saltworks_commits_total", { worker, outcome: "done" }, count("commits"));
  samples.set("saltworks_commits_total", { worker, outcome: "failed" }, count("commits.failed"));
  samples.set("saltworks_returns_total", { worker, outcome: "stored" }, count("returns.stored"));
  samples.set("saltworks_returns_total", { worker, outcome: "duplicate" }, count("returns.duplicate"));
  samples.set("saltworks_returns_total", { worker, outcome: "too_large" }, count("returns.tooLarge"));
  samples.set("saltworks_returns_total", { worker, outcome: "malformed" }, count("returns.malformed"));
  for (const result of authResults) {
    samples.set("saltworks_auths_total", { worker, result }, count(`auth.${result}`));
  }
  for (const [name, value] of Object.entries(counters)) {
    if (!name.startsWith(targetPrefix)) continue;
    samples.set("saltworks_target_index", { worker, part: name.slice(targetPrefix.length) }, value);
  }
  for (const kind of diskFaultKinds) {
    samples.set("saltworks_disk_faults_total", { thread: `sw-worker-${worker}`, kind }, count(`disk.${kind}`));
  }
  sampleSentReturns(samples, worker, counters);
  samples.set("saltworks_replies_withdrawn_total", { worker }, count("replies.withdrawn"));
  samples.set("saltworks_tokens_verified_total", { worker }, count("tokensVerified"));
  samples.set("saltworks_events_trimmed_total", { worker }, count("events.trimmed"));
}

const sentOutcomes = ["sent", "refused", "tooLarge", "givenUp", "messages", "retried"] as const;

/** Does nothing for a worker without a cluster. */
function sampleSentReturns(samples: Samples, worker: string, counters: WorkerMeasures["counters"]): void {
  if (counters["cluster.sent"] === undefined) return;
  const count = (name: string): number => counters[name] ?? 0;
  for (const outcome of sentOutcomes)
    samples.set("saltworks_cluster_returns_sent_total", { worker, outcome }, count(`cluster.${outcome}`));
  samples.set("saltworks_cluster_returns_sent_bytes_total", { worker }, count("cluster.bytes"));
  samples.set("saltworks_cluster_returns_untold", { worker }, count("cluster.untold"));
  for (const outcome of ["stored", "duplicate", "unusable"] as const)
    samples.set("saltworks_cluster_returns_total", { worker, outcome }, count(`cluster.returns.${outcome}`));
}
