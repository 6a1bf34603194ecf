/** A sender of returns whose connection ends for good. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReturnSender } from "../../../src/cluster/returns/sender.ts";

type Connection = Awaited<ReturnType<Parameters<typeof ReturnSender.open>[1]>>;

/** A connection that acknowledges all. `end`: as after a fault. */
function connection() {
  let isClosed = false;
  let end: (error?: Error) => void = () => assert.fail("it is not open");
  const closed = new Promise<undefined | Error>((resolve) => {
    end = (error) => {
      isClosed = true;
      resolve(error);
    };
  });
  const published: string[] = [];
  const opened = {
    nats: {
      closed: () => closed,
      status: async function* () {
        await closed;
        yield* [];
      },
    },
    jetstream: {
      publish: async (stream: string) => {
        if (isClosed) throw new Error("closed connection");
        published.push(stream);
        return { stream };
      },
    },
    close: async () => end(),
  };
  return { opened: opened as unknown as Connection, published, end };
}

describe("a sender of returns whose connection ends by itself", { timeout: 30_000 }, () => {
  it("says so, connects again and sends what comes then", async () => {
    const connections = [connection(), connection()];
    const lost: string[] = [];
    let connected = 0;
    let again: () => void = () => undefined;
    const isAgain = new Promise<void>((resolve) => {
      again = resolve;
    });
    const connect = async () => {
      const next = connections[connected];
      assert.ok(next, "it connects too often");
      connected += 1;
      if (connected === 2) again();
      return next.opened;
    };
    const sender = ReturnSender.open({ clusterId: "test", member: "one", servers: "NATS" }, connect, ({ message }) =>
      lost.push(message),
    );
    const [first, second] = connections;
    first?.end(new Error("the signature failed"));
    await isAgain;
    assert.deepEqual(lost, [
      "the connection to the cluster's NATS server has ended, and does not come back by itself: the signature failed",
    ]);
    const one = { jid: "1", minionId: "web1", body: Uint8Array.of(0x80), isStored: true, isFailed: false };
    while ((second?.published.length ?? 0) === 0) await new Promise(setImmediate);
    await sender.send([one]);
    await sender.close();
    assert.deepEqual([connected, lost.length, sender.counters.sent], [2, 1, 1]);
  });
});
