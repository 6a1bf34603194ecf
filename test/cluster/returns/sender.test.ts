/** A sender of returns on a cluster that is slow, without a server. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { describe, it } from "node:test";
import type { SharedReturn } from "../../../src/cluster/returns/message.ts";
import { ReturnSender } from "../../../src/cluster/returns/sender.ts";
import { returnLargeSendMs, returnMessageBytesMax, returnPiecesUnderWayMax } from "../../../src/limits.ts";

type Connect = Parameters<typeof ReturnSender.open>[1];

function returnOf(bytes: number): SharedReturn {
  return { jid: "20261129000000000001", minionId: "web1", body: Buffer.alloc(bytes), isStored: true, isFailed: false };
}

describe("a sender of returns", () => {
  it("gives a large return up in time if the cluster takes it slowly, and goes on with others", async (t) => {
    let nowMs = 0;
    t.mock.method(performance, "now", () => nowMs);
    let published = 0;
    const ending = new EventEmitter();
    const connect = async () => ({
      close: async () => void ending.emit("end"),
      jetstream: {
        publish: async (stream: string, bytes: Uint8Array) => {
          published += 1;
          if (bytes.byteLength >= returnMessageBytesMax && published % returnPiecesUnderWayMax === 0) nowMs += 1_000;
          return { stream };
        },
      },
      nats: {
        closed: async () => void (await once(ending, "end")),
        status: async function* () {
          yield { type: "update" };
          await once(ending, "end");
        },
      },
    });
    const sender = ReturnSender.open(
      { clusterId: "test", member: "one", servers: "NATS" },
      connect as unknown as Connect,
    );
    t.after(() => sender.close());
    for (let isUp = false; !isUp; )
      isUp = await sender.send([returnOf(1)]).then(
        () => true,
        () => false,
      );
    const startMs = nowMs;
    await assert.rejects(sender.send([returnOf(60 * returnMessageBytesMax)]), {
      code: "CLUSTER_UNAVAILABLE",
      detail: { isSlow: true },
    });
    assert.ok(nowMs - startMs <= returnLargeSendMs, `${nowMs - startMs}`);
    await sender.send([returnOf(1)]);
    await sender.send([returnOf(3 * returnMessageBytesMax)]);
  });
});
