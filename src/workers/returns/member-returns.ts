/** Stores the returns that another member of the cluster took, and makes their events. */
import { decodeReturns, type SharedReturn } from "../../cluster/returns/message.ts";
import { isWireFault } from "../../errors.ts";
import { ByteWriter } from "../../wire/byte-writer.ts";
import { bufferOf } from "../../wire/walk.ts";
import type { MemberReturnsResult, MemberReturnsTask } from "../messages/member-returns.ts";
import { BatchEffects } from "../requests/context.ts";
import { fireReturn, isKept, loadIn, returnTag } from "../requests/return.ts";
import { loadBelow } from "../requests/syndic/returns.ts";
import type { WorkerState } from "../state/worker-state.ts";

/**
 * Skips and counts what cannot be read, because it would fail each time and hold up what comes after it.
 *
 * @throws SaltworksError STORE_FAILED; some may be stored then, and a second call stores the rest
 */
export async function takeMemberReturns(worker: WorkerState, task: MemberReturnsTask): Promise<MemberReturnsResult> {
  const all = decodeReturns(bufferOf(new Uint8Array(task.buffer)));
  await Promise.all(all.map((one) => keepJobOf(worker, one)));
  const returns = all.filter(({ job, jid }) => job !== "below" && !worker.isPresencePing(jid));
  const [kept, others] = [[], []] as [SharedReturn[], SharedReturn[]];
  for (const one of returns) (one.isStored && isKept(worker, one.jid) ? kept : others).push(one);
  const outcomes = kept.length === 0 ? [] : await worker.stores.jobs.keepReturns(kept);
  for (const outcome of outcomes)
    worker.count(outcome === "stored" ? "cluster.returns.stored" : "cluster.returns.duplicate");
  const isNews = (one: SharedReturn, at: number) =>
    worker.cluster?.wasUntold(one) === true || outcomes[at] === "stored";
  return eventsOf(worker, task, [...kept.filter(isNews), ...others]);
}

/** Events in the form of a batch's result. */
function eventsOf(
  worker: WorkerState,
  { isHeard }: MemberReturnsTask,
  told: readonly SharedReturn[],
): MemberReturnsResult {
  const memory = { replies: new ByteWriter(), events: new ByteWriter() };
  const effects = new BatchEffects(Date.now(), isHeard, 0, memory);
  if (isHeard)
    for (const { jid, minionId, body, isFailed } of told) {
      try {
        fireReturn(worker, effects, returnTag(jid, minionId), body, isFailed);
      } catch (error) {
        noteUnusable(worker, error);
      }
    }
  const bytes = Buffer.allocUnsafeSlow(effects.events.length);
  bytes.set(effects.events.bytes.subarray(0, effects.events.length));
  return {
    buffer: bytes.buffer as ArrayBuffer,
    eventsStart: 0,
    eventCount: effects.eventCount,
    returnEvents: Uint32Array.from(effects.returnEvents),
  };
}

/** Keeps the job that a return makes, if the job is new: as the member did that took the return. */
async function keepJobOf(worker: WorkerState, { jid, minionId, body, job }: SharedReturn): Promise<void> {
  if (job === undefined) return;
  const { jobs } = worker.stores;
  try {
    if (job === "below" && minionId === "") await jobs.keepNewJob(jid, () => loadBelow(jid, body));
    else {
      const load = () => (job === "isReturn" ? body : loadIn(body));
      await jobs.keepNewJob(jid, () => ({ jid, load: load(), minions: [minionId] }));
    }
  } catch (error) {
    noteUnusable(worker, error);
  }
}

function noteUnusable(worker: WorkerState, error: unknown): void {
  if (!isWireFault(error)) throw error;
  worker.count("cluster.returns.unusable");
}
