/** Each bound of our ROUTER, reached by a hostile client, beside an honest client that is not affected. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../bench/fleet/storm/zmtp.ts";
import { commandFrame } from "../../../src/transport/zmtp/frames.ts";
import type { CloseReason } from "../../../src/transport/zmtp/peer.ts";
import type { RouterServerOptions } from "../../../src/transport/zmtp/router-options.ts";
import type { RouterServer } from "../../../src/transport/zmtp/router-server.ts";
import { until } from "./publish/subscribing.ts";
import { openServer, RawClient } from "./raw-client.ts";

const hello = opening("REQ");
const noBytes = Buffer.alloc(0);
/** Greeting and READY of the server. */
const helloBytes = 64 + 2 + 41;

async function greeted(port: number): Promise<RawClient> {
  const client = await RawClient.open(port);
  client.send(hello);
  await client.take(helloBytes);
  return client;
}

function only(server: RouterServer, reason: CloseReason, count = 1): void {
  const reached = Object.entries(server.closed).filter(([, closed]) => closed > 0);
  assert.deepEqual(reached, [[reason, count]]);
}

/** Runs `attack` against a server with these options; asserts that its connection is closed for `reason` and that nothing of it is kept. */
async function closes(
  reason: CloseReason,
  options: Partial<RouterServerOptions>,
  attack: (client: RawClient, server: RouterServer) => Promise<void> | void,
): Promise<void> {
  const { server } = await openServer(options);
  try {
    const client = await greeted(server.port);
    await attack(client, server);
    await client.closed;
    only(server, reason);
    assert.deepEqual(
      [server.connectionCount, server.heldBytes, server.unansweredCount, server.unreadBytes],
      [0, 0, 0, 0],
    );
  } finally {
    await server.close(0);
  }
}

/** A server that records the order of its requests, a client that floods it, and an honest one that sends once the flood has begun. */
async function openOrdering(bounds: RouterServerOptions["bounds"]) {
  const order: string[] = [];
  let honest: RawClient | undefined;
  const { server } = await openServer({
    ...(bounds === undefined ? {} : { bounds }),
    onMessage: (_, parts) => {
      order.push(String(parts[1]));
      if (order.length === 1) honest?.send(requestBytes(Buffer.from("honest")));
    },
  });
  const flooding = await greeted(server.port);
  honest = await greeted(server.port);
  const close = async () => {
    flooding.close();
    honest?.close();
    await server.close(0);
  };
  return { order, flooding, close };
}

describe("RouterServer closes", () => {
  it("a connection whose message has a fifth part", async () => {
    await closes("parts", {}, (client) => client.send(Buffer.alloc(20, Buffer.of(1, 0))));
  });

  it("a connection whose message is larger than it may be, before it has come", async () => {
    await closes("messageBytes", { messageBytesMax: 1_000 }, (client) =>
      client.send(requestBytes(Buffer.alloc(1_001))),
    );
  });

  it("a connection that speaks something else", async () => {
    const { server } = await openServer();
    const client = await RawClient.open(server.port);
    client.send(
      Buffer.concat([
        Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3]),
        Buffer.from("GET / HTTP/1.1\r\n".repeat(9)),
      ]),
    );
    await client.closed;
    only(server, "malformed");
    await server.close(0);
  });

  it("a connection that sends a request before it says what it is", async () => {
    const { server, messages } = await openServer();
    const client = await RawClient.open(server.port);
    client.send(Buffer.concat([hello.subarray(0, 64), requestBytes(Buffer.from("early"))]));
    await client.closed;
    only(server, "malformed");
    assert.deepEqual(messages, []);
    await server.close(0);
  });

  it("a connection that does not end its greeting in time", async () => {
    const { server } = await openServer({ bounds: { greetingTimeoutMs: 50, overdueLookMs: 10 } });
    const silent = await RawClient.open(server.port);
    const slow = await RawClient.open(server.port);
    slow.send(hello.subarray(0, 70));
    await Promise.all([silent.closed, slow.closed]);
    only(server, "greetingTimeout", 2);
    await server.close(0);
  });

  it("a connection that does not end a message in time, and none that only waits", async () => {
    const { server } = await openServer({
      bounds: { greetingTimeoutMs: 1_500, messageTimeoutMs: 1_500, overdueLookMs: 10 },
    });
    const idle = await greeted(server.port);
    const slow = await greeted(server.port);
    slow.send(requestBytes(Buffer.alloc(100)).subarray(0, 50));
    await slow.closed;
    only(server, "messageTimeout");
    assert.equal(server.connectionCount, 1);
    idle.close();
    await server.close(0);
  });

  it("a connection with more unanswered requests than it may have; one that proved something may have more", async () => {
    const bounds = { strangerUnansweredMax: 3, provenUnansweredMax: 5 };
    const requests = (count: number) => Buffer.concat(Array.from({ length: count }, () => requestBytes(Buffer.of(1))));
    await closes("unanswered", { bounds }, (client) => client.send(requests(4)));
    let proving: RouterServer | undefined;
    const onMessage: RouterServerOptions["onMessage"] = (peer) => proving?.prove(peer);
    await closes("unanswered", { bounds, onMessage }, (client, server) => {
      proving = server;
      client.send(requests(6));
    });
  });

  it("a connection that sends commands without end, and none that only shows signs of life", async () => {
    const order: string[] = [];
    const { server } = await openServer({
      onMessage: (_, parts) => order.push(String(parts[1])),
      bounds: { commandsAtOnceMax: 1_000 },
    });
    const heartbeats = Array.from({ length: 600 }, () => commandFrame("PING", Buffer.from([0, 10])));
    const honest = await greeted(server.port);
    honest.send(Buffer.concat([...heartbeats, requestBytes(Buffer.from("alive"))]));
    await until(() => order.includes("alive"), 'order.includes("alive")');
    const flooding = await greeted(server.port);
    flooding.send(Buffer.alloc(3 * 1_000, Buffer.of(4, 1, 0)));
    flooding.send(requestBytes(Buffer.from("first")));
    flooding.send(Buffer.alloc(3 * 80_000, Buffer.of(4, 1, 0)));
    await flooding.closed;
    only(server, "commands");
    assert.deepEqual([order, server.connectionCount], [["alive", "first"], 1]);
    honest.close();
    await server.close(0);
  });

  it("a connection that does not read its replies", async () => {
    const { server, messages } = await openServer({
      bounds: { strangerUnreadBytesMax: 1_000_000, strangerUnansweredMax: 10_000 },
    });
    const client = await greeted(server.port);
    client.socket.pause();
    const reply = Buffer.alloc(100_000);
    client.send(requestBytes(Buffer.of(1)));
    await until(() => messages.length > 0, "messages.length > 0");
    const [{ peer } = { peer: undefined }] = messages;
    let sent = 0;
    while (peer !== undefined && server.reply(peer, reply)) sent += 1;
    only(server, "unreadReplies");
    assert.ok(sent < 200, `${sent} replies of 100 kB; the kernel holds some MB`);
    assert.equal(server.unreadBytes, 0);
    client.close();
    await server.close(0);
  });

  it("the oldest unfinished message when strangers hold too much, and lets the newer one be finished", async () => {
    const { server, messages } = await openServer({
      messageBytesMax: 40_000,
      bounds: { strangersHeldBytesMax: 60_000 },
    });
    const [first, second] = [await greeted(server.port), await greeted(server.port)];
    const message = requestBytes(Buffer.alloc(40_000 - 1));
    first.send(message.subarray(0, 39_000));
    await until(() => server.heldBytes >= 38_000, "server.heldBytes >= 38_000");
    second.send(message.subarray(0, 39_000));
    await first.closed;
    only(server, "heldBytes");
    second.send(message.subarray(39_000));
    await until(() => messages.length > 0, "messages.length > 0");
    assert.equal(messages[0]?.parts[1]?.length, 39_999);
    second.close();
    await server.close(0);
  });

  it("connections of one address beyond their bound, none of another address or of a proxy, and does not count closed ones", async () => {
    const { server } = await openServer({ addressConnectionsMax: 2, isProxy: (address) => address === "127.0.0.3" });
    const clients = [await RawClient.open(server.port), await RawClient.open(server.port)];
    const third = await RawClient.open(server.port);
    await third.closed;
    only(server, "address");
    clients.push(await RawClient.open(server.port, "127.0.0.2"));
    for (let index = 0; index < 4; index += 1) clients.push(await RawClient.open(server.port, "127.0.0.3"));
    await until(() => server.connectionCount >= 7, "server.connectionCount >= 7");
    only(server, "address");
    clients[0]?.close();
    await until(() => server.connectionCount <= 6, "server.connectionCount <= 6");
    clients.push(await greeted(server.port));
    only(server, "address");
    for (const client of clients) client.close();
    await server.close(0);
  });

  it("the oldest connection that proved nothing when there are too many, and never one that did", async () => {
    let proving: RouterServer | undefined;
    const { server } = await openServer({ connectionsMax: 2, onMessage: (peer) => proving?.prove(peer) });
    proving = server;
    const minion = await greeted(server.port);
    minion.send(requestBytes(Buffer.of(1)));
    await until(() => server.strangerCount <= 0, "server.strangerCount <= 0");
    const stranger = await greeted(server.port);
    const newer = await greeted(server.port);
    await stranger.closed;
    only(server, "connections");
    assert.equal(minion.socket.closed, false);
    newer.close();
    minion.close();
    await server.close(0);
  });
});

describe("RouterServer", () => {
  it("answers a PING with its context", async () => {
    const { server } = await openServer();
    const client = await RawClient.open(server.port);
    client.send(Buffer.concat([hello, commandFrame("PING", Buffer.from([0, 10, 1, 2, 3]))]));
    const bytes = await client.take(helloBytes + 10);
    assert.ok(bytes.includes(Buffer.from("PONG\x01\x02\x03")), bytes.toString("latin1"));
    client.close();
    await server.close(0);
  });

  it("reads each connection once more at most while it is paused, loses nothing, and goes on in order", async () => {
    const { server, messages } = await openServer({
      bounds: { messageTimeoutMs: 1_000, greetingTimeoutMs: 1_000, overdueLookMs: 10 },
    });
    const client = await greeted(server.port);
    server.pause("strangers");
    const bodies = Array.from({ length: 400 }, (_, index) => Buffer.alloc(2_000, index % 251));
    // Half of the last message: a pause must not end an unfinished message.
    const stream = Buffer.concat(bodies.map(requestBytes));
    client.send(stream.subarray(0, stream.length - 1_000));
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    assert.deepEqual([messages.length, server.connectionCount], [0, 1]);
    assert.ok(server.heldBytes <= 128 * 1024, `${server.heldBytes} bytes`);
    server.resume("strangers");
    client.send(stream.subarray(stream.length - 1_000));
    await until(() => messages.length >= 400, "messages.length >= 400");
    assert.ok(messages.every(({ parts }, index) => parts[1]?.equals(bodies[index] ?? Buffer.alloc(0))));
    assert.deepEqual([server.heldBytes, server.closed.messageTimeout], [0, 0]);
    client.close();
    await server.close(0);
  });

  it("resumes a connection that proves itself while strangers are paused, and reads proven ones all the time", async () => {
    const { server, messages } = await openServer();
    const clients = [await greeted(server.port), await greeted(server.port)];
    const [first, second] = clients as [RawClient, RawClient];
    for (const client of clients) client.send(requestBytes(Buffer.of(1)));
    await until(() => messages.length >= 2, "messages.length >= 2");
    server.pause("strangers");
    for (const client of clients) client.send(requestBytes(Buffer.of(2)));
    await until(() => server.groups.strangers.heldBytes >= 10, "server.groups.strangers.heldBytes >= 10");
    const minion = messages.find(({ peer }) => peer.number === 1)?.peer;
    assert.ok(minion);
    server.prove(minion);
    await until(() => messages.length >= 3, "messages.length >= 3");
    first.send(requestBytes(Buffer.of(3)));
    await until(() => messages.length >= 4, "messages.length >= 4");
    assert.ok(messages.slice(2).every(({ peer }) => peer === minion));
    assert.deepEqual([server.groups.strangers.heldBytes, server.groups.strangers.unanswered], [5, 1]);
    server.pause("proven");
    assert.equal(server.groups.proven.isPaused, true);
    server.resume("strangers");
    assert.equal(messages.length, 5);
    first.close();
    second.close();
    await server.close(0);
  });

  it("goes on with the rest of a chunk only after the pause that came in its middle", async () => {
    let pausing: RouterServer | undefined;
    const seen: number[] = [];
    const { server } = await openServer({
      onMessage: (_, parts) => {
        seen.push(parts[1]?.[0] ?? -1);
        if (seen.length % 2 === 1) pausing?.pause("strangers");
      },
    });
    pausing = server;
    const client = await greeted(server.port);
    client.send(Buffer.concat([1, 2, 3, 4].map((value) => requestBytes(Buffer.of(value)))));
    await until(() => seen.length >= 1, "seen.length >= 1");
    assert.deepEqual(seen, [1]);
    server.resume("strangers");
    assert.deepEqual(seen, [1, 2, 3]);
    server.resume("strangers");
    assert.deepEqual(seen, [1, 2, 3, 4]);
    client.close();
    await server.close(0);
  });

  it("lets a connection that brings much wait for its next turn, and hears another meanwhile", async () => {
    const { order, flooding, close } = await openOrdering({ strangerUnansweredMax: 10_000 });
    flooding.send(Buffer.concat(Array.from({ length: 2_000 }, () => requestBytes(Buffer.from("flood")))));
    await until(() => order.length >= 2_001, "order.length >= 2_001");
    assert.ok(order.indexOf("honest") < 1_000, `heard after ${order.indexOf("honest")} requests of the flood`);
    await close();
  });

  it("answers a client that connects again in the middle of a request, and keeps nothing of the half", async () => {
    let echoing: RouterServer | undefined;
    const { server } = await openServer({ onMessage: (peer, parts) => void echoing?.reply(peer, parts[1] ?? noBytes) });
    echoing = server;
    const request = requestBytes(Buffer.alloc(200_000, 7));
    for (const sent of [1, 5, 150_000]) {
      const former = await greeted(server.port);
      former.send(request.subarray(0, sent));
      if (sent > 100_000) await until(() => server.heldBytes >= sent - 11, "server.heldBytes >= sent - 11");
      former.close();
      const client = await greeted(server.port);
      client.send(request);
      assert.deepEqual(await client.take(request.length), request);
      await until(() => server.connectionCount === 1, "server.connectionCount === 1");
      assert.deepEqual([server.heldBytes, server.unansweredCount], [0, 0]);
      client.close();
      await until(() => server.connectionCount === 0, "server.connectionCount === 0");
    }
    await server.close(0);
  });

  it("hears another connection between the commands of one", async () => {
    const { order, flooding, close } = await openOrdering({
      commandsPerMinuteMax: 100_000,
      commandsAtOnceMax: 100_000,
    });
    const commands = Buffer.alloc(3 * 20_000, Buffer.of(4, 1, 0));
    flooding.send(Buffer.concat([requestBytes(Buffer.from("begin")), commands, requestBytes(Buffer.from("end"))]));
    await until(() => order.length >= 3, "order.length >= 3");
    assert.deepEqual(order, ["begin", "honest", "end"]);
    await close();
  });

  it("brings a large reply whole to a client that reads slowly, also while the server closes", async () => {
    const { server, messages } = await openServer();
    const client = await greeted(server.port);
    client.send(requestBytes(Buffer.of(1)));
    await until(() => messages.length > 0, "messages.length > 0");
    const reply = Buffer.alloc(4_000_000, 7);
    const [{ peer } = { peer: undefined }] = messages;
    assert.ok(peer);
    server.prove(peer);
    server.reply(peer, reply);
    const closed = server.close(10_000);
    const bytes = await client.take(11 + reply.length);
    assert.ok(bytes.subarray(-reply.length).equals(reply));
    await closed;
  });
});
