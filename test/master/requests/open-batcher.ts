/** A batcher for tests over a pool that keeps every batch until the test finishes it. */
import { refusedUnread } from "../../../src/master/admission/refused-unread.ts";
import { Batcher, type BatcherOptions } from "../../../src/master/requests/batcher.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import { unpackBatch } from "../../../src/workers/batch/frames.ts";
import type { BatchResult, BatchTask } from "../../../src/workers/messages/batch.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import type { PoolTask, WorkerPool } from "../../../src/workers/threads/worker-pool.ts";
import { namedConnection } from "../ports/named-connection.ts";

export type Taken = {
  readonly slot: number;
  readonly items: { kind: number; bytes: Buffer }[];
  readonly finish: (error?: Error, more?: Partial<BatchResult>) => void;
};

/** The other members of a result that holds only replies. */
const uneventful = {
  deferred: [],
  auths: undefined,
  contacts: [],
  accepted: [],
  refusals: [],
  wrongKeys: [],
  authenticated: [],
  started: [],
  syndics: [],
  expected: [],
  workedMs: 0,
};

/**
 * No address is a proxy's or has proved something, every id has an accepted key, no operator's key is right, events and jobs are followed, and the
 * fleet is below `max_minions`.
 */
const trusting = {
  addresses: { isProxy: () => false, hasProven: () => false },
  standing: { isAccepted: () => true, hasRightKey: () => false },
  isOverMinionsMax: () => false,
  isHeard: () => true,
};

const unwatched = { onDeferred: () => undefined, onWrongKey: () => undefined, onResult: () => undefined };

/** The frame is only valid during the call. */
function offerLent(batcher: Batcher, connection: ReturnType<typeof namedConnection>, frame: Uint8Array): void {
  const lent = Buffer.from(frame);
  batcher.offer(connection, lent);
  lent.fill(0xee);
}

/** Each item's reply is its own bytes. */
export function openBatcher(options: Partial<BatcherOptions> = {}, depth = 0, slotCount = 1) {
  const taken: Taken[] = [];
  const replies: [string, unknown][] = [];
  const contacts: string[] = [];
  const forgotten: string[] = [];
  const proven: string[] = [];
  const pool = {
    slotCount,
    depth: () => depth,
    offer: (slot: number, job: PoolTask) =>
      new Promise((resolve, reject) => {
        const { task } = job.build() as { task: BatchTask };
        const items = unpackBatch(task);
        const buffer = new Uint8Array(Buffer.concat(items.map((item) => item.bytes))).buffer;
        let end = 0;
        const replyEnds = Uint32Array.from(items, (item) => {
          end += item.bytes.byteLength;
          return end;
        });
        const result: BatchResult = {
          buffer,
          replyEnds,
          eventsStart: end,
          eventCount: 0,
          returnEvents: new Uint32Array(0),
          proven: Uint8Array.from(items, () => 1),
          ...uneventful,
        };
        const finish: Taken["finish"] = (error, more) =>
          error === undefined ? resolve({ ...result, ...more }) : reject(error);
        taken.push({ slot, items, finish });
      }),
  } as unknown as WorkerPool;
  const rooms: string[] = [];
  const batcher = new Batcher({
    pool,
    partitioner: new Partitioner(createPartitionKey(), 64),
    framesMax: 4,
    bytesMax: 100_000,
    auths: {
      batchesPerSlotMax: 2,
      authsMax: 2,
      clientTimeoutMs: 5_000,
      isAccepted: () => false,
      knownKey: () => undefined,
      nowMs: () => 0,
    },
    lingerMs: 0,
    batchesInFlightMax: 1,
    queueBytesMax: 1_000,
    reply: (connection, payload) => void replies.push([String(connection), decode(payload)]),
    forget: (connection) => void forgotten.push(String(connection)),
    prove: (connection) => void proven.push(String(connection)),
    ...trusting,
    isFollowed: () => false,
    onContact: (id) => void contacts.push(id),
    ...unwatched,
    refuseUnread: (route, connection) => void replies.push([String(connection), decode(refusedUnread(route))]),
    onAuths: async () => undefined,
    onFault: () => undefined,
    onRoom: (readers) => void rooms.push(readers),
    ...options,
  });
  const send = (
    name: string,
    frame = encodeSealedRequest(Buffer.from(name), { version: 3, id: "web1" }),
    isProven = false,
  ) => offerLent(batcher, namedConnection(name, isProven), frame);
  return { batcher, taken, replies, contacts, forgotten, proven, send, rooms };
}

/** The batcher flushes at the end of the turn in which the socket drained. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));
export const settle = async () => {
  await turn();
  await turn();
};
