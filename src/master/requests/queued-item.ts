/** A request in a worker's queue, and the way of its answer back to its connection. */
import { type BatchItem, itemKinds } from "../../workers/batch/frames.ts";
import type { BatchResult } from "../../workers/messages/batch.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { RequestPeer } from "../ports/request-peer.ts";
import type { Standing } from "../waiting/standing.ts";

/** `peer` is the connection that waits for the reply. */
export type QueuedItem = BatchItem & {
  readonly peer: RequestPeer;
  /** The id outside of the seal; undefined if only a worker can know it. */
  readonly id: string | undefined;
  /** By `performance.now()`. */
  readonly queuedMs: number;
  /** Undefined for an authentication. */
  readonly standing?: Standing;
  /** Workers that could not serve it. */
  readonly failedSlots?: number;
};
export type StandingItem = QueuedItem & { readonly standing: Standing };

export type ResultTakers = {
  readonly reply: (peer: RequestPeer, payload: Uint8Array) => void;
  /** A minion has proved itself over this connection. */
  readonly prove: (peer: RequestPeer) => void;
  /** A minion has proved itself. */
  readonly onContact: (id: string) => void;
  /** Everything of a finished batch but its replies. */
  readonly onResult: (result: BatchResult) => void;
  readonly onDeferred: (work: Deferred, peer: RequestPeer) => void;
};

/** Whether every worker can serve it, because it belongs to no minion that can be seen. */
export function isForAnyWorker({ kind, id }: QueuedItem): boolean {
  return kind === itemKinds.ordinary && id === undefined;
}

/** Hands out a batch's replies, then what else came of it. */
export function bringHome(items: readonly QueuedItem[], result: BatchResult, takers: ResultTakers): void {
  const { reply, prove, onContact } = takers;
  const { buffer, replyEnds, proven } = result;
  let start = 0;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const end = replyEnds[index] ?? start;
    if (end > start && item !== undefined) reply(item.peer, Buffer.from(buffer, start, end - start));
    if (proven[index] === 1 && item !== undefined) {
      prove(item.peer);
      if (item.id !== undefined) onContact(item.id);
    }
    start = end;
  }
  takers.onResult(result);
  for (const work of result.deferred) {
    const item = items[work.item];
    if (item !== undefined) takers.onDeferred(work, item.peer);
  }
}
