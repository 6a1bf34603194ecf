import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { Dealer, Request } from "zeromq";
import { RequestFront, type RequestFrontOptions } from "../../../src/master/ports/request-front.ts";
import { SharedMemory } from "../../../src/transport/zmtp/bodies/shared-memory.ts";
import { badLoad } from "../../../src/wire/reply.ts";

const replyDeadlineMs = 10_000;

/** A front that answers each request with its own bytes. */
async function openEcho(options: Partial<RequestFrontOptions> = {}): Promise<RequestFront> {
  const front = await RequestFront.bind({
    host: "127.0.0.1",
    port: 0,
    backlog: 10,
    keepalive: { isOn: false, idleSeconds: -1, count: -1, intervalSeconds: -1 },
    messageBytesMax: 1_000_000,
    addressConnectionsMax: 0,
    memory: new SharedMemory(),
    isProxy: () => false,
    mayBeLarge: () => true,
    onOwing: () => undefined,
    onRequest: (connection, frame) => front.reply(connection, frame),
    onFault: (error) => assert.fail(error),
    ...options,
  });
  return front;
}

describe("RequestFront", () => {
  it("answers libzmq's REQ sockets at all sizes of a frame", async () => {
    const front = await openEcho();
    const socket = new Request({ linger: 0, receiveTimeout: replyDeadlineMs });
    try {
      socket.connect(front.boundEndpoint);
      for (const bytes of [0, 1, 255, 256, 16_384, 16_385, 400_000]) {
        const sent = Buffer.alloc(bytes, bytes % 251);
        await socket.send(sent);
        const [reply] = await socket.receive();
        assert.ok(reply?.equals(sent), `${bytes} bytes`);
      }
      assert.deepEqual(front.counters, { requests: 7, malformed: 0, replies: 7, repliesDropped: 0 });
    } finally {
      socket.close();
      await front.close();
    }
  });

  it("hears a minion that comes again under its connection's name before the former loss is noticed", async () => {
    const front = await openEcho();
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

  it("answers a message of too many parts as bad, and none that has no empty part", async () => {
    const front = await openEcho();
    const socket = new Dealer({ linger: 0, receiveTimeout: replyDeadlineMs });
    try {
      socket.connect(front.boundEndpoint);
      await socket.send(["no empty part"]);
      await socket.send(["", "one", "two"]);
      const [empty, reply] = await socket.receive();
      assert.equal(empty?.length, 0);
      assert.ok(reply?.equals(badLoad));
      assert.deepEqual([front.counters.malformed, front.counters.requests], [2, 0]);
      assert.equal(front.server?.unansweredCount, 0);
    } finally {
      socket.close();
      await front.close();
    }
  });

  it("names port, option and cause when it cannot listen", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      await assert.rejects(openEcho({ port }), (error: Error & { code?: string }) => {
        assert.equal(error.code, "MASTER_RUNNING");
        assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port} .*ret_port.*EADDRINUSE`));
        return true;
      });
      await assert.rejects(openEcho({ host: "192.0.2.1" }), /192\.0\.2\.1.*interface.*EADDRNOTAVAIL/);
    } finally {
      other.close();
    }
  });
});
