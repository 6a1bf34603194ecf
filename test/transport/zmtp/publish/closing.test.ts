/** Our PUB with hostile clients: which connection is closed, and for which reason. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { opening } from "../../../../bench/fleet/storm/zmtp.ts";
import { subscriptionBytesMax } from "../../../../src/limits.ts";
import { commandFrame } from "../../../../src/transport/zmtp/frames.ts";
import type { PubServer, PubServerOptions } from "../../../../src/transport/zmtp/publish/pub-server.ts";
import type { SubscriberCloseReason } from "../../../../src/transport/zmtp/publish/subscriber.ts";
import { RawClient } from "../raw-client.ts";
import {
  closeOpened,
  nextMessage,
  openPub,
  pubHelloBytes,
  reached,
  subscribed,
  subscription,
  until,
} from "./subscribing.ts";

/** Runs `attack` beside an honest subscriber and asserts that only its connection is closed, for `reason`, and that nothing of it is kept. */
async function closes(
  reason: SubscriberCloseReason,
  options: Partial<PubServerOptions>,
  attack: (client: RawClient, server: PubServer) => Promise<void> | void,
): Promise<void> {
  const server = await openPub(options);
  try {
    const honest = await subscribed(server);
    const client = await RawClient.open(server.port);
    client.send(opening("SUB"));
    await client.take(pubHelloBytes);
    await attack(client, server);
    await client.closed;
    await until(() => server.connectionCount === 1, "the end of the connection");
    assert.deepEqual(reached(server), { [reason]: 1 });
    assert.deepEqual([server.subscriberCount, server.topicCount, server.heldBytes, server.behindCount], [1, 1, 0, 0]);
    server.publish(Buffer.from("on"));
    assert.deepEqual(await nextMessage(honest), ["on"]);
    honest.close();
  } finally {
    await server.close(0);
  }
}

describe("PubServer closes", () => {
  afterEach(closeOpened);

  it("a connection with more subscriptions than it may have", async () => {
    await closes("subscriptions", { bounds: { subscriptionsMax: 3 } }, (client) =>
      client.send(Buffer.concat(["a", "b", "a", "c", "d"].map(subscription))),
    );
  });

  it("a connection that subscribes and cancels without end", async () => {
    await closes("messages", { bounds: { subscriberMessagesPerMinuteMax: 100 } }, (client) =>
      client.send(
        Buffer.concat(
          Array.from({ length: 51 }, () => [
            commandFrame("SUBSCRIBE", Buffer.from("x")),
            commandFrame("CANCEL", Buffer.from("x")),
          ]).flat(),
        ),
      ),
    );
  });

  it("a connection whose signs of life do not end", async () => {
    await closes("messages", { bounds: { subscriberMessagesPerMinuteMax: 100 } }, (client) =>
      client.send(Buffer.concat(Array.from({ length: 101 }, () => commandFrame("PING", Buffer.of(0, 0))))),
    );
  });

  it("a connection whose message has a second part", async () => {
    await closes("parts", {}, (client) => client.send(Buffer.alloc(1_000, Buffer.of(1, 0))));
  });

  it("a connection whose subscription is too long, from its head", async () => {
    await closes("messageBytes", {}, (client) =>
      client.send(subscription("x".repeat(subscriptionBytesMax + 1)).subarray(0, 9)),
    );
    await closes("malformed", {}, (client) =>
      client.send(commandFrame("SUBSCRIBE", Buffer.alloc(subscriptionBytesMax + 1))),
    );
  });

  it("a connection that announces a frame and does not finish it in time", async () => {
    const bounds = { greetingTimeoutMs: 1_500, messageTimeoutMs: 1_500, overdueLookMs: 10 };
    await closes("messageTimeout", { bounds }, (client) => client.send(subscription("topic").subarray(0, 4)));
  });

  it("a connection that does not end its greeting in time", async () => {
    const server = await openPub({ bounds: { greetingTimeoutMs: 50, overdueLookMs: 10 } });
    const silent = await RawClient.open(server.port);
    const slow = await RawClient.open(server.port);
    slow.send(opening("SUB").subarray(0, 70));
    await Promise.all([silent.closed, slow.closed]);
    assert.deepEqual(reached(server), { greetingTimeout: 2 });
    await server.close(0);
  });

  it("a connection of a socket that does not subscribe", async () => {
    const server = await openPub();
    const client = await RawClient.open(server.port);
    client.send(opening("REQ"));
    await client.closed;
    assert.deepEqual(reached(server), { malformed: 1 });
    await server.close(0);
  });

  it("connections that have not read the oldest message, when too much is kept for them", async () => {
    const server = await openPub({ highWaterMark: 0, bounds: { heldPublishesBytesMax: 20_000_000 } });
    const deaf = await subscribed(server);
    deaf.socket.pause();
    const honest = await subscribed(server);
    const message = Buffer.alloc(1_000_000, "x");
    for (let sent = 0; sent < 60 && server.connectionCount === 2; sent += 1) {
      server.publish(message);
      await nextMessage(honest);
    }
    assert.deepEqual(reached(server), { unreadPublishes: 1 });
    assert.deepEqual([server.connectionCount, server.heldBytes, server.behindCount], [1, 0, 0]);
    honest.close();
    deaf.close();
    await server.close(0);
  });

  it("the newest connection of the most crowded address, subscribed or not, when all places are taken", async () => {
    const server = await openPub({ connectionsMax: 4 });
    const many = [];
    for (let count = 0; count < 3; count += 1) many.push(await subscribed(server, "", "127.0.0.4"));
    const honest = await subscribed(server, "", "127.0.0.5");
    const welcome = await RawClient.open(server.port, "127.0.0.6");
    welcome.send(Buffer.concat([opening("SUB"), subscription("")]));
    await welcome.take(pubHelloBytes);
    await many[2]?.closed;
    await until(() => server.subscriberCount === 4, "the newcomer's subscription");
    assert.deepEqual(reached(server), { connections: 1 });
    server.publish(Buffer.from("on"));
    for (const client of [honest, welcome, ...many.slice(0, 2)]) {
      assert.deepEqual(await nextMessage(client), ["on"]);
      client.close();
    }
    await server.close(0);
  });

  it("new connections of an address at its bound, unless it is a proxy", async () => {
    const server = await openPub({ addressConnectionsMax: 2, isProxy: (address) => address === "127.0.0.3" });
    const kept = [await subscribed(server), await subscribed(server)];
    const refused = await RawClient.open(server.port);
    await refused.closed;
    for (let count = 0; count < 3; count += 1) kept.push(await subscribed(server, "", "127.0.0.3"));
    assert.deepEqual(reached(server), { address: 1 });
    kept[0]?.close();
    await until(() => server.connectionCount === 4, "the end of the first connection");
    kept.push(await subscribed(server));
    for (const client of kept) client.close();
    await server.close(0);
  });

  it("a connection without a subscription when there are too many, and never one that has one", async () => {
    const server = await openPub({ connectionsMax: 2 });
    const honest = await subscribed(server);
    const silent = await RawClient.open(server.port);
    await until(() => server.connectionCount === 2, "a second connection");
    const second = await subscribed(server);
    await silent.closed;
    const refused = await RawClient.open(server.port);
    await refused.closed;
    assert.deepEqual(reached(server), { connections: 2 });
    server.publish(Buffer.from("to both"));
    for (const client of [honest, second]) assert.deepEqual(await nextMessage(client), ["to both"]);
    for (const client of [honest, second]) client.close();
    await server.close(0);
  });
});
