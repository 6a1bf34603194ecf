/** A request in a worker's queue, and how the results of a batch reach their connections. */
import { type BatchItem, itemKinds } from "../../workers/batch/frames.ts";
import type { BatchResult, WrongKey } from "../../workers/messages/batch.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { Standing } from "../admission/standing.ts";
import type { RequestConnection } from "../ports/request-connection.ts";

/** `connection` waits for the reply. */
export type QueuedRequest = BatchItem & {
  readonly connection: RequestConnection;
  /** The minion's id if the main thread can see it: in an `_auth`, or beside an encrypted load. */
  readonly id: string | undefined;
  /** By `performance.now()`. */
  readonly queuedMs: number;
  /** Undefined for an authentication. */
  readonly standing?: Standing;
  /** Number of workers that could not serve it. */
  readonly failedSlots?: number;
};
export type RequestWithStanding = QueuedRequest & { readonly standing: Standing };

export type ResultTakers = {
  readonly reply: (connection: RequestConnection, payload: Uint8Array) => void;
  /** Called when a minion has proved itself over this connection. */
  readonly prove: (connection: RequestConnection) => void;
  /** Called when the minion has proved itself. */
  readonly onContact: (id: string) => void;
  /** Takes the result of a finished batch after its replies were sent. */
  readonly onResult: (result: BatchResult) => void;
  readonly onDeferred: (work: Deferred, connection: RequestConnection) => void;
  readonly onWrongKey: (wrong: WrongKey, connection: RequestConnection) => void;
};

/** Whether any worker can serve it, because it shows no minion's id. */
export function isForAnyWorker({ kind, id }: QueuedRequest): boolean {
  return kind === itemKinds.ordinary && id === undefined;
}

/** Sends a batch's replies, then passes on the rest of its result and its deferred requests. */
export function deliverResult(items: readonly QueuedRequest[], result: BatchResult, takers: ResultTakers): void {
  const { reply, prove, onContact } = takers;
  const { buffer, replyEnds, proven } = result;
  let start = 0;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const end = replyEnds[index] ?? start;
    if (end > start && item !== undefined) reply(item.connection, Buffer.from(buffer, start, end - start));
    if (proven[index] === 1 && item !== undefined) {
      prove(item.connection);
      if (item.id !== undefined) onContact(item.id);
    }
    start = end;
  }
  takers.onResult(result);
  for (const work of result.deferred) {
    const item = items[work.item];
    if (item !== undefined) takers.onDeferred(work, item.connection);
  }
  for (const wrong of result.wrongKeys) {
    const item = items[wrong.item];
    if (item !== undefined) takers.onWrongKey(wrong, item.connection);
  }
}
