/**
 * One batch in a worker thread: open everything, start the commit, seal the replies while the disk works, and let nothing
 * out before it is durable. docs/ARCHITECTURE.md, "A job's life".
 */
import { SaltworksError } from "../errors.ts";
import type { Autosign } from "../store/autosign.ts";
import { encodeRawReply } from "../wire/reply.ts";
import { unpackBatch } from "./batch.ts";
import { type ItemOutcome, processItem } from "./dispatch.ts";
import type { BatchResult, BatchTask, Deferred, ReturnNote } from "./messages.ts";
import { BatchEffects } from "./requests/context.ts";
import type { Shard } from "./shard.ts";

/** Salt's words for a handler that raised; it makes the minion authenticate again and retry. */
const failedReply = encodeRawReply(Buffer.from("Some exception handling minion payload"));

export async function runBatch(
  shard: Shard,
  autosign: Autosign,
  task: Pick<BatchTask, "buffer" | "isHeard">,
  onFault: (error: Error) => void,
): Promise<BatchResult> {
  const batch = new BatchEffects(Date.now(), task.isHeard);
  const items = unpackBatch(task.buffer);
  shard.count("batches");
  shard.count("frames", items.length);
  const outcomes = items.map((item): ItemOutcome => {
    try {
      return processItem(shard, autosign, batch, item);
    } catch (error) {
      const isTheirs = error instanceof SaltworksError && error.code.startsWith("WIRE_");
      shard.count(isTheirs ? "refused.malformed" : "refused.fault");
      if (!isTheirs) onFault(asError(error));
      return { reply: failedReply, isStoring: false };
    }
  });
  const isDurable = await commit(shard, batch, onFault);
  return assemble(batch, outcomes, isDurable);
}

/** @returns false if the store failed: then no return of this batch may be acknowledged */
async function commit(shard: Shard, batch: BatchEffects, onFault: (error: Error) => void): Promise<boolean> {
  const stored = batch.returns.filter((pending) => pending.isStored);
  try {
    const [outcomes] = await Promise.all([
      stored.length === 0 ? [] : shard.stores.jobs.putReturns(stored.map((pending) => pending.record)),
      ...batch.writes,
    ]);
    if (stored.length > 0) shard.count("commits");
    for (const [index, outcome] of outcomes.entries()) {
      shard.count(outcome === "stored" ? "returns.stored" : "returns.duplicate");
      if (outcome === "stored" && stored[index] !== undefined)
        shard.stores.localCache?.offerReturn(stored[index].record);
    }
    return true;
  } catch (error) {
    shard.count("commits.failed");
    onFault(asError(error));
    return false;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new SaltworksError("STORE_FAILED", String(error));
}

function assemble(batch: BatchEffects, outcomes: readonly ItemOutcome[], isDurable: boolean): BatchResult {
  const replies = outcomes.map((outcome) => {
    if ("deferred" in outcome) return undefined;
    return outcome.isStoring && !isDurable ? failedReply : outcome.reply;
  });
  const returns = isDurable && batch.isHeard ? batch.returns : [];
  const returnFrames = returns.flatMap((pending) => pending.frame ?? []);
  const eventFrames = [...returnFrames, ...batch.events];
  let total = 0;
  for (const reply of replies) total += reply?.byteLength ?? 0;
  const eventsStart = total;
  for (const frame of eventFrames) total += frame.byteLength;
  const bytes = new Uint8Array(new ArrayBuffer(total));
  const replyEnds = new Uint32Array(replies.length);
  let at = 0;
  for (const [index, reply] of replies.entries()) {
    if (reply !== undefined) {
      bytes.set(reply, at);
      at += reply.byteLength;
    }
    replyEnds[index] = at;
  }
  const returned: ReturnNote[] = [];
  for (const [index, frame] of eventFrames.entries()) {
    bytes.set(frame, at);
    const pending = returns[index];
    if (pending !== undefined) {
      const { jid, minionId: id } = pending.record;
      returned.push({ jid, id, bodyStart: at, bodyEnd: at + frame.byteLength });
    }
    at += frame.byteLength;
  }
  const deferred = outcomes.flatMap((outcome, item): Deferred[] =>
    "deferred" in outcome ? [{ item, ...outcome.deferred }] : [],
  );
  const eventCount = eventFrames.length;
  const contacts = [...batch.contacts];
  return {
    buffer: bytes.buffer,
    replyEnds,
    eventsStart,
    eventCount,
    returned,
    deferred,
    contacts,
    accepted: batch.accepted,
  };
}
