/**
 * Runs one batch in a worker thread: opens and answers each item, commits, and returns replies and events once the commit is durable.
 * docs/ARCHITECTURE.md, "A job's life".
 */
import type { SharedReturn } from "../../cluster/returns/message.ts";
import { isWireFault, SaltworksError } from "../../errors.ts";
import type { PutOutcome } from "../../store/jobs/job-cache.ts";
import type { Autosign } from "../../store/keys/autosign.ts";
import { ByteWriter } from "../../wire/byte-writer.ts";
import { failedReply } from "../../wire/reply.ts";
import type { AuthBatch, BatchResult, BatchTask } from "../messages/batch.ts";
import type { Deferred } from "../messages/deferred.ts";
import { BatchEffects, type BatchMemory, type PendingReturn } from "../requests/context.ts";
import type { ClusterReturns } from "../state/cluster-returns.ts";
import type { WorkerState } from "../state/worker-state.ts";
import { packAuthTasks } from "./auth-tasks.ts";
import { type ItemOutcome, processItem } from "./dispatch.ts";
import { type ReceivedItem, unpackBatch } from "./frames.ts";

/** Memory of finished batches, which the next ones use. At most `batches_in_flight` entries. */
const spareMemory: BatchMemory[] = [];

export async function runBatch(
  worker: WorkerState,
  autosign: Autosign,
  task: Omit<BatchTask, "kind">,
  onFault: (error: Error) => void,
): Promise<BatchResult> {
  const items = unpackBatch(task);
  const memory = spareMemory.pop() ?? { replies: new ByteWriter(), events: new ByteWriter() };
  const batch = new BatchEffects(Date.now(), task.isHeard, items.length, memory);
  worker.count("batches");
  worker.count("frames", items.length);
  const replyEnds = new Uint32Array(items.length);
  const outcomes = items.map((item, index): ItemOutcome => {
    batch.item = index;
    batch.command = undefined;
    const outcome = answer(worker, autosign, batch, item, onFault);
    if ("reply" in outcome) batch.replies.add(outcome.reply);
    replyEnds[index] = batch.replies.length;
    return outcome;
  });
  const done = await commit(worker, batch, onFault);
  batch.clock.lap("commit");
  if (done !== "durable") takeBack(worker, batch, outcomes, replyEnds, done);
  const result = assemble(worker, batch, outcomes, replyEnds, task.isFollowed);
  worker.meter.noteBatch(items.length, batch.clock);
  memory.replies.reset();
  memory.events.reset();
  spareMemory.push(memory);
  return result;
}

function answer(
  worker: WorkerState,
  autosign: Autosign,
  batch: BatchEffects,
  item: ReceivedItem,
  onFault: (error: Error) => void,
): ItemOutcome {
  const { length } = batch.replies;
  try {
    return processItem(worker, autosign, batch, item);
  } catch (error) {
    const isTheirs = isWireFault(error);
    worker.count(isTheirs ? "refused.malformed" : "refused.fault");
    if (batch.command !== undefined) worker.meter.noteRequest(batch.command, "failed");
    batch.clock.lap("handle");
    if (!isTheirs) onFault(asError(error));
    batch.replies.length = length;
    return { reply: failedReply, isStoring: false };
  }
}

/**
 * Waits for every write, even after one has failed, because writes read the batch's memory, which the next batch reuses.
 *
 * @returns "failed" if the store failed: then the master must not acknowledge anything that this batch stores; "refused" if the cluster did not take the
 * returns: then it must not acknowledge them
 */
async function commit(
  worker: WorkerState,
  batch: BatchEffects,
  onFault: (error: Error) => void,
): Promise<"durable" | "failed" | "refused"> {
  const shared = worker.cluster === undefined ? undefined : share(worker.cluster, batch);
  const stored = batch.returns.filter((pending) => pending.isStored);
  const outcomes: PutOutcome[] = [];
  const putReturns = async () => {
    if (stored.length > 0) outcomes.push(...(await worker.stores.jobs.keepReturns(stored.map(({ record }) => record))));
  };
  const settled = await Promise.allSettled([putReturns(), shared, ...batch.writes]);
  const failed = settled.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
  if (failed.length > 0) {
    worker.count("commits.failed");
    for (const { reason } of failed) onFault(asError(reason));
    return "failed";
  }
  if (stored.length > 0) worker.count("commits");
  for (const outcome of outcomes) worker.count(outcome === "stored" ? "returns.stored" : "returns.duplicate");
  const taken = settled[1];
  return taken?.status === "fulfilled" && taken.value === false ? "refused" : "durable";
}

/** Sends the batch's returns to the other members of the cluster. @returns undefined without returns */
function share(cluster: ClusterReturns, { returns, loadsBelow }: BatchEffects): Promise<boolean> | undefined {
  if (returns.length === 0) return undefined;
  return cluster.share([...loadsBelow, ...returns.map(sharedOf)]);
}

/** Member by member: a spread of two objects took a tenth of what sharing a return costs the worker. */
function sharedOf({ record: { jid, minionId, body }, isStored, isFailed, job }: PendingReturn): SharedReturn {
  return { jid, minionId, body, isStored, isFailed, job };
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new SaltworksError("STORE_FAILED", String(error));
}

/**
 * Replaces the reply of each request that stores something by an error, and removes the returns' events. `why`: "refused" if only the returns are not
 * taken.
 */
function takeBack(
  worker: WorkerState,
  batch: BatchEffects,
  outcomes: readonly ItemOutcome[],
  replyEnds: Uint32Array,
  why: "failed" | "refused",
): void {
  const { replies, events, returnEvents } = batch;
  const refused = why === "failed" ? undefined : new Set(batch.returns.map(({ item }) => item));
  const written = Buffer.from(replies.bytes.subarray(0, replies.length));
  replies.reset();
  let start = 0;
  for (const [index, outcome] of outcomes.entries()) {
    const end = replyEnds[index] ?? start;
    const isTakenBack = "isStoring" in outcome && outcome.isStoring && refused?.has(index) !== false;
    if (isTakenBack) worker.count("replies.withdrawn");
    replies.add(isTakenBack ? failedReply : written.subarray(start, end));
    replyEnds[index] = replies.length;
    start = end;
  }
  const fired = Buffer.from(events.bytes.subarray(0, events.length));
  events.reset();
  let kept = 0;
  for (let index = 0; index < returnEvents.length; index += 3) {
    events.add(fired.subarray(kept, returnEvents[index]));
    kept = returnEvents[index + 1] ?? kept;
    batch.eventCount -= 1;
  }
  events.add(fired.subarray(kept));
  returnEvents.length = 0;
}

function assemble(
  worker: WorkerState,
  batch: BatchEffects,
  outcomes: readonly ItemOutcome[],
  replyEnds: Uint32Array,
  isFollowed: boolean,
): BatchResult {
  const { replies, events, eventCount } = batch;
  const eventsStart = replies.length;
  const bytes = Buffer.allocUnsafeSlow(eventsStart + (batch.isHeard ? events.length : 0));
  bytes.set(replies.bytes.subarray(0, replies.length));
  if (batch.isHeard) bytes.set(events.bytes.subarray(0, events.length), eventsStart);
  const deferred = outcomes.flatMap((outcome, item): Deferred[] =>
    "deferred" in outcome ? [{ item, ...outcome.deferred }] : [],
  );
  const auths = authsOf(worker, outcomes);
  // The time to copy the replies into one buffer counts as sealing.
  batch.clock.lap("seal");
  return {
    buffer: bytes.buffer as ArrayBuffer,
    replyEnds,
    eventsStart,
    eventCount,
    returnEvents: isFollowed ? Uint32Array.from(batch.returnEvents) : noEvents,
    deferred,
    auths,
    proven: batch.proven,
    contacts: [...batch.contacts],
    // Leaves out keys that were removed while the batch was written.
    accepted: batch.accepted.filter((id) => worker.isAccepted(id)),
    authenticated: batch.authenticated,
    started: batch.started,
    syndics: [...batch.syndics],
    expected: batch.expected,
    refusals: batch.refusals,
    wrongKeys: batch.wrongKeys,
    workedMs: batch.clock.totalMs,
  };
}

const noEvents = new Uint32Array(0);

/**
 * Packs the decided `_auth`s. A minion whose key was removed or replaced while the batch was written gets `ret: true` without a
 * session, so that it authenticates again.
 */
function authsOf(worker: WorkerState, outcomes: readonly ItemOutcome[]): AuthBatch | undefined {
  const decided = outcomes.flatMap((outcome, item) => {
    if (!("auth" in outcome)) return [];
    const { auth, acceptedId: id } = outcome;
    const isLost = id !== undefined && "pub" in auth.outcome && !worker.isServed(id, auth.outcome.pub);
    return [{ item, task: isLost ? { ...auth, outcome: { ret: true } } : auth }];
  });
  if (decided.length === 0) return undefined;
  return packAuthTasks(
    decided.map(({ item }) => item),
    decided.map(({ task }) => task),
  );
}
