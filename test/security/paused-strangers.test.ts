/** Strangers fill the workers' queues and their bound of held bytes, so that the master stops reading them; proven minions are not affected. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../bench/fleet/storm/zmtp.ts";
import { clearFrameBytesMax, firstReadBytes, strangersPauseShare } from "../../src/limits.ts";
import { Batcher, type BatcherOptions } from "../../src/master/requests/batcher.ts";
import type { Peer } from "../../src/transport/zmtp/peer.ts";
import { peerGroupNames } from "../../src/transport/zmtp/peer-group.ts";
import type { RouterServer } from "../../src/transport/zmtp/router-server.ts";
import { encodeSealedRequest } from "../../src/wire/request.ts";
import { unpackBatch } from "../../src/workers/batch/frames.ts";
import type { BatchResult, BatchTask } from "../../src/workers/messages/batch.ts";
import { createPartitionKey, Partitioner } from "../../src/workers/threads/partition.ts";
import type { PoolTask, WorkerPool } from "../../src/workers/threads/worker-pool.ts";
import { until } from "../transport/zmtp/publish/subscribing.ts";
import { openServer, RawClient } from "../transport/zmtp/raw-client.ts";

const queueBytesMax = 400_000;
const strangersHeldBytesMax = 200_000;
const stranger = "127.0.0.2";
const answer = Buffer.from("answered");
const answerBytes = 2 + 2 + answer.length;
/** Signature, greeting and READY. */
const helloBytes = 64 + 2 + 41;

/** A large request, which gets a batch of its own: this worker does not finish it until told to. */
const large = requestBytes(encodeSealedRequest(Buffer.alloc(2 * clearFrameBytesMax), { version: 3, id: "web1" }));
const small = requestBytes(encodeSealedRequest(Buffer.alloc(500), { version: 3, id: "web1" }));

class SlowWorker {
  readonly #held: (() => void)[] = [];
  #isHolding = true;

  readonly pool = {
    slotCount: 1,
    depth: () => 0,
    offer: async (_: number, job: PoolTask): Promise<BatchResult> => {
      const { task } = job.build() as { task: BatchTask };
      const items = unpackBatch(task);
      if (this.#isHolding && items.some(({ bytes }) => bytes.length > clearFrameBytesMax))
        await new Promise<void>((resolve) => this.#held.push(resolve));
      return {
        buffer: new Uint8Array(Buffer.concat(items.map(() => answer))).buffer,
        replyEnds: Uint32Array.from(items, (_item, at) => (at + 1) * answer.length),
        eventsStart: items.length * answer.length,
        eventCount: 0,
        returnEvents: new Uint32Array(0),
        proven: Uint8Array.from(items, () => 1),
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
    },
  } as unknown as WorkerPool;

  goOn(): void {
    this.#isHolding = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

/** Port and queues as in the master. */
async function openPath(worker: SlowWorker): Promise<RouterServer> {
  const path: { server?: RouterServer } = {};
  const nothing = () => undefined;
  const batcher = new Batcher({
    pool: worker.pool,
    partitioner: new Partitioner(createPartitionKey(), 64),
    framesMax: 64,
    bytesMax: 100_000,
    auths: {
      batchesPerSlotMax: 2,
      authsMax: 2,
      clientTimeoutMs: 5_000,
      isAccepted: () => false,
      knownKey: nothing,
      nowMs: () => 0,
    },
    lingerMs: 0,
    batchesInFlightMax: 2,
    queueBytesMax,
    reply: (peer, payload) => void path.server?.reply(peer as Peer, payload),
    forget: (peer) => path.server?.forget(peer as Peer),
    prove: (peer) => path.server?.prove(peer as Peer),
    addresses: { isProxy: () => false, hasProven: () => false },
    standing: { isAccepted: () => true, hasRightKey: () => false },
    isOverMinionsMax: () => false,
    isHeard: () => false,
    isFollowed: () => false,
    onContact: nothing,
    onResult: nothing,
    onDeferred: nothing,
    onWrongKey: nothing,
    refuseUnread: nothing,
    onAuths: async () => undefined,
    onFault: (error) => assert.fail(error),
    onRoom: (readers) => path.server?.resume(readers),
  } satisfies BatcherOptions);
  const { server } = await openServer({
    messageBytesMax: strangersHeldBytesMax,
    bounds: { strangersHeldBytesMax },
    onMessage: (peer, [, frame]) => {
      batcher.offer(peer, frame ?? Buffer.alloc(0));
      for (const readers of peerGroupNames) if (batcher.holdsBack(readers)) server.pause(readers);
    },
  });
  path.server = server;
  return server;
}

async function greeted(server: RouterServer, from?: string): Promise<RawClient> {
  const client = await RawClient.open(server.port, from);
  client.send(opening("REQ"));
  await client.take(helloBytes);
  return client;
}

describe("strangers that are read no more", { timeout: 60_000 }, () => {
  it("hold no more than their bound, while minions that proved themselves are answered", async () => {
    const worker = new SlowWorker();
    const server = await openPath(worker);
    const { strangers, proven } = server.groups;
    const clients: RawClient[] = [];
    const connect = async (from?: string) => {
      const client = await greeted(server, from);
      clients.push(client);
      return client;
    };
    try {
      const minion = await connect();
      minion.send(small);
      await minion.take(answerBytes);
      await until(() => server.strangerCount === 0, "a proof");

      const flooding: RawClient[] = [];
      for (let count = 0; count < 24; count += 1) flooding.push(await connect(stranger));
      // One request is with the worker, and the others fill their share of the queue.
      const filling = 1 + Math.ceil((strangersPauseShare * queueBytesMax) / large.length);
      for (let count = 0; count < filling; count += 1) (await connect(stranger)).send(large);
      await until(() => strangers.isPaused, "the pause");
      // Unfinished requests, then complete ones: their first reads are twice the bytes that all strangers may hold.
      assert.ok(flooding.length * firstReadBytes > 1.9 * strangersHeldBytesMax);
      for (const [at, client] of flooding.entries()) client.send(at < 8 ? large.subarray(0, 120_000) : large);
      await until(() => server.closed.heldBytes >= 4, "connections that are closed");
      for (let count = 0; count < 100; count += 1) {
        minion.send(small);
        assert.ok((await minion.take(answerBytes)).subarray(4).equals(answer));
        assert.ok(strangers.isPaused && !proven.isPaused);
        assert.ok(strangers.heldBytes <= strangersHeldBytesMax, `strangers hold ${strangers.heldBytes} bytes`);
      }
      assert.deepEqual([strangers.pauses, proven.pauses, server.unfinishedChargedBytes], [1, 0, 0]);

      // The remaining clients are answered after all.
      const left = clients.filter(({ socket }) => !socket.closed).length;
      worker.goOn();
      await until(() => !strangers.isPaused && strangers.unanswered === 0, "the end of the pause");
      assert.ok(left > filling, `${left} connections are left`);
    } finally {
      for (const client of clients) client.close();
      worker.goOn();
      await server.close(0);
    }
  });
});
