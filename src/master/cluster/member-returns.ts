/** Takes the returns of the cluster's other members as if minions had sent them here: stores them, fires their events, and tells the job tracker. */
import { join } from "node:path";
import type { Logger } from "pino";
import type { ClusterConnection } from "../../cluster/connection.ts";
import type { Member } from "../../cluster/member.ts";
import { encodeReturns, returnBytesMax, type SharedReturn } from "../../cluster/returns/message.ts";
import { type ReceiverOptions, ReturnReceiver } from "../../cluster/returns/receiver.ts";
import type { SharedTokens } from "../../cluster/tokens/replica.ts";
import type {
  MemberReturnsResult,
  MemberReturnsTask,
  RepairAnswer,
  RepairPlace,
  RepairTask,
} from "../../workers/messages/member-returns.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { refusedBatches } from "../../workers/state/cluster-returns.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Samples } from "../metrics/samples.ts";
import type { Bus } from "../ports/bus.ts";
import type { OwnedJobs } from "./leases/job-leases.ts";

/** The master's parts that returns of other members go to. */
export type ReturnParts = {
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Pick<Partitioner, "slotOf">;
  readonly bus: Pick<Bus, "isSubscribed" | "publishElsewhere">;
  readonly jobs: Pick<Jobs, "isListening" | "noteReturns">;
  readonly start: Pick<WorkerStart, "cluster">;
};

/** What a member gives the cluster of its own. */
export type MemberParts = ReturnParts & OwnedJobs & { readonly tokens: SharedTokens };

type FollowParts = ReturnParts & {
  readonly connection: Pick<ClusterConnection, "jetstream" | "manager" | "seal">;
  readonly member: Pick<Member, "clusterId" | "directory" | "name" | "replicas">;
  readonly logger: Logger;
};

/** Follows the streams of returns. @throws errors of NATS while it does not answer */
export async function followMemberReturns(parts: FollowParts): Promise<ReturnReceiver> {
  const { connection: clients, member, logger } = parts;
  return await ReturnReceiver.open({
    ...{ clients, logger, clusterId: member.clusterId, member: member.name },
    replicas: member.replicas,
    placesFile: join(member.directory, "returns"),
    store: (returns, isNews) => storeReturns(parts, returns, isNews),
    refusals: () => (parts.start.cluster === undefined ? 0 : refusedBatches(parts.start.cluster.refusals)),
    repair: returnRepairer(parts),
  });
}

/** Each return goes to the worker of its minion, which alone may store it. */
export async function storeReturns(
  parts: ReturnParts,
  returns: readonly SharedReturn[],
  isNews: boolean,
): Promise<void> {
  const { pool, partitioner, bus, jobs } = parts;
  const bySlot = new Map<number, SharedReturn[]>();
  for (const one of returns) {
    const slot = pool.slotCount === 1 ? 0 : partitioner.slotOf(one.minionId, pool.slotCount);
    const own = bySlot.get(slot);
    if (own === undefined) bySlot.set(slot, [one]);
    else own.push(one);
  }
  const stored = [...bySlot].map(async ([slot, own]) => {
    const bytes = own.reduce((sum, one) => sum + returnBytesMax(one), 0);
    const build = () => {
      const whole = encodeReturns("", own);
      const buffer = whole.buffer.byteLength === whole.byteLength ? whole.buffer : Uint8Array.from(whole).buffer;
      const isHeard = isNews && (bus.isSubscribed || jobs.isListening);
      const task: MemberReturnsTask = { kind: "memberReturns", buffer: buffer as ArrayBuffer, isHeard };
      return { task, transfer: [task.buffer] };
    };
    const result = await pool.offer<MemberReturnsResult>(slot, { bytes, build });
    // The reactor and the event returns of the member that the minion returned to act on it.
    bus.publishElsewhere(new Uint8Array(result.buffer), result.eventCount);
    jobs.noteReturns(result);
  });
  await Promise.all(stored);
}

/** A step at a time, so that requests go on. A walk that failed goes on where it was, unless `isNew`. */
export function returnRepairer({ pool }: Pick<ReturnParts, "pool">): ReceiverOptions["repair"] {
  let walk: { after: RepairPlace | undefined; count: number } = { after: undefined, count: 0 };
  return async (sinceMs, isNew) => {
    if (isNew) walk = { after: undefined, count: 0 };
    do {
      const task: RepairTask = { kind: "repairReturns", sinceMs, after: walk.after };
      const answer = await pool.offer<RepairAnswer>(0, { bytes: 0, build: () => ({ task, transfer: [] }) });
      walk.count += answer.sent;
      walk.after = answer.after;
    } while (walk.after !== undefined);
    return walk.count;
  };
}

export function sampleMemberReturns(samples: Samples, receiver: ReturnReceiver): void {
  const { messages, returns, own, malformed, failures, repaired } = receiver.counters;
  const counts = { messages, returns, own, malformed, failed: failures, repaired, lost: receiver.lostCount };
  for (const [what, count] of Object.entries(counts))
    samples.set("saltworks_cluster_returns_read_total", { what }, count);
  for (const { stream, messages: lag } of receiver.lags) samples.set("saltworks_cluster_returns_lag", { stream }, lag);
}
