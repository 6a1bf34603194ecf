import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { measureBareSockets } from "../../../bench/peers/bare-sockets.ts";

describe("measureBareSockets", () => {
  it("holds a connection of each kind for every minion, in less memory with libzmq's batch sizes lowered", async () => {
    const minionCount = 600;
    const usual = await measureBareSockets({ minionCount });
    const lowered = await measureBareSockets({ minionCount, batchBytes: 1_024 });
    assert.equal(usual.batchBytes, 8_192);
    assert.equal(lowered.batchBytes, 1_024);
    const usualBytes = usual.rssBytes - usual.emptyRssBytes;
    const loweredBytes = lowered.rssBytes - lowered.emptyRssBytes;
    // A buffer of each batch size for both directions of both connections. Less memory would mean that the buffers do not exist.
    assert.ok(usualBytes > minionCount * 2 * 8_192, `${usualBytes} bytes`);
    assert.ok(loweredBytes < usualBytes * 0.9, `${loweredBytes} bytes, ${usualBytes} with libzmq's own sizes`);
  });
});
