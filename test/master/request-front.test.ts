import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Dealer } from "zeromq";
import { RequestFront } from "../../src/master/request-front.ts";

const replyDeadlineMs = 10_000;

describe("RequestFront", () => {
  it("hears a minion that comes again under its connection's name before the loss of the former is noticed", async () => {
    const front = await RequestFront.bind({
      endpoint: "tcp://127.0.0.1:*",
      frameBytesMax: 1_000,
      bufferBytes: 1_024,
      backlog: 10,
      keepalive: { isOn: false, idleSeconds: -1, count: -1, intervalSeconds: -1 },
      onRequest: (identity, frame) => front.reply(identity, frame),
      onFault: (error) => assert.fail(error),
    });
    const sockets: Dealer[] = [];
    try {
      for (const text of ["before", "after"]) {
        const routingId = "salt-req/minion/web1/1/0";
        const socket = new Dealer({ routingId, linger: 0, receiveTimeout: replyDeadlineMs });
        sockets.push(socket);
        socket.connect(front.boundEndpoint);
        await socket.send(["", text]);
        const [, reply] = await socket.receive();
        assert.equal(reply?.toString(), text);
      }
    } finally {
      for (const socket of sockets) socket.close();
      await front.close();
    }
  });
});
