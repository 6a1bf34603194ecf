/** The storm's own ZMTP beside libzmq's: each reads what the other sends, in pieces of any size. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Publisher, Router } from "zeromq";
import { Connection } from "../../bench/fleet/storm/connection.ts";
import { MessageReader, opening, requestBytes } from "../../bench/fleet/storm/zmtp.ts";

const timeoutMs = 10_000;

function portOf(socket: { lastEndpoint: string | null }): number {
  return Number(socket.lastEndpoint?.split(":").at(-1));
}

describe("a REQ connection of the storm", () => {
  it("asks a ROUTER and gets the reply, small and large", async () => {
    const router = new Router();
    await router.bind("tcp://127.0.0.1:*");
    const connection = await Connection.open({ host: "127.0.0.1", port: portOf(router), type: "REQ" });
    try {
      for (const bytes of [1, 255, 256, 300_000]) {
        const payload = Buffer.alloc(bytes, bytes % 251);
        const reply = connection.request(payload, timeoutMs);
        const [identity, empty, received] = await router.receive();
        assert.equal(empty?.length, 0);
        assert.ok(received?.equals(payload));
        await router.send([identity ?? "", "", received ?? ""]);
        assert.ok((await reply).equals(payload));
      }
    } finally {
      connection.close();
      router.close();
    }
  });

  it("gives up on a reply that does not come", async () => {
    const router = new Router();
    await router.bind("tcp://127.0.0.1:*");
    const connection = await Connection.open({ host: "127.0.0.1", port: portOf(router), type: "REQ" });
    await assert.rejects(connection.request(Buffer.from("x"), 20), { code: "REQUEST_TIMEOUT" });
    connection.close();
    router.close();
  });

  it("says that no server listens", async () => {
    await assert.rejects(Connection.open({ host: "127.0.0.1", port: 1, type: "REQ" }), { code: "MASTER_UNREACHABLE" });
  });
});

describe("a SUB connection of the storm", () => {
  it("gets what is published", async () => {
    const publisher = new Publisher();
    await publisher.bind("tcp://127.0.0.1:*");
    const connection = await Connection.open({ host: "127.0.0.1", port: portOf(publisher), type: "SUB" });
    const got = new Promise<string>((resolve) => {
      connection.onMessage = (payload) => resolve(payload.toString());
    });
    // Neither side reports when the subscription is active, so the test publishes until a message arrives.
    const timer = setInterval(() => void publisher.send("a publish"), 10);
    assert.equal(await got, "a publish");
    clearInterval(timer);
    connection.close();
    publisher.close();
  });
});

describe("MessageReader", () => {
  it("waits at every byte boundary until a message is whole", () => {
    const stream = Buffer.concat([
      opening("REQ"),
      requestBytes(Buffer.alloc(3, 1)),
      requestBytes(Buffer.alloc(400, 2)),
    ]);
    for (let step = 1; step < 80; step += 7) {
      const sizes: number[] = [];
      const reader = new MessageReader(
        () => {},
        (payload) => sizes.push(payload.length),
      );
      for (let at = 0; at < stream.length; at += step) reader.push(stream.subarray(at, at + step));
      assert.equal(reader.isReady, true);
      assert.deepEqual(sizes, [3, 400], `in steps of ${step}`);
    }
  });

  it("answers a PING with its context, without which libzmq closes the connection", () => {
    const answers: Buffer[] = [];
    const reader = new MessageReader(
      () => {},
      () => {},
      (framed) => answers.push(framed),
    );
    const context = Buffer.from("seen");
    const ping = Buffer.concat([Buffer.from("\x04PING\x00\x64", "latin1"), context]);
    reader.push(Buffer.concat([opening("REQ"), Buffer.of(4, ping.length), ping]));
    assert.deepEqual(answers, [Buffer.concat([Buffer.of(4, 9), Buffer.from("\x04PONG", "latin1"), context])]);
  });

  it("refuses a peer that speaks something else", () => {
    const reader = new MessageReader(
      () => {},
      () => {},
    );
    assert.throws(() => reader.push(Buffer.from("HTTP/1.1 400 Bad Request\r\n".repeat(4))), { code: "WIRE_MALFORMED" });
  });
});
