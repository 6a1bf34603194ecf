/** Our PUB with clients of each release, with slow clients, and with clients that send many PINGs or subscriptions. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Readable } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { Subscriber as ZeromqSubscriber } from "zeromq";
import { opening } from "../../../../bench/fleet/storm/zmtp.ts";
import { publishCopiesMax } from "../../../../src/limits.ts";
import { commandFrame, partFrame } from "../../../../src/transport/zmtp/frames.ts";
import { RawClient } from "../raw-client.ts";
import {
  clients,
  closeOpened,
  nextMessage,
  openPub,
  pubHelloBytes,
  reached,
  subscribed,
  subscription,
  until,
} from "./subscribing.ts";

describe("PubServer", () => {
  afterEach(closeOpened);

  for (const [name, { hello, cancel, answerBytes, framing }] of Object.entries(clients)) {
    it(`serves a subscriber of ${name}, whose bytes come in two pieces cut anywhere`, async () => {
      const server = await openPub();
      const bytes = hello("top");
      const cut = async (at: number) => {
        const client = await RawClient.open(server.port);
        client.send(bytes.subarray(0, at));
        await client.take(10);
        client.send(bytes.subarray(at));
        await client.take(answerBytes - 10);
        return client;
      };
      const cuts = await Promise.all(Array.from({ length: bytes.length }, (_, at) => cut(at)));
      await until(() => server.subscriberCount === cuts.length, "subscriptions");
      for (const size of [0, 250, 70_000]) {
        const payload = Buffer.concat([Buffer.from("topic"), Buffer.alloc(size, "x")]);
        server.publish(payload);
        const frame = partFrame(payload, false, framing);
        for (const client of cuts) assert.ok((await client.take(frame.length)).equals(frame));
      }
      assert.deepEqual(reached(server), {});
      if (cancel("top").length > 0) {
        for (const client of cuts) client.send(cancel("top"));
        await until(() => server.subscriberCount === 0, "the end of the subscriptions");
        server.publish(Buffer.from("topic"));
        assert.equal(server.counters.sent, 3 * cuts.length);
      }
      for (const client of cuts) client.close();
      await server.close(0);
    });
  }

  it("sends behind topics only to their subscribers, large and small payloads", async () => {
    const server = await openPub();
    const [one, both, all] = [
      await subscribed(server, "one"),
      await subscribed(server, "one"),
      await subscribed(server),
    ];
    both.send(subscription("two"));
    await until(() => server.topicCount === 3, "the second topic");
    for (const payload of ["small", "x".repeat(100_000)]) {
      server.publishTo(["one", "two", "three"], Buffer.from(payload));
      assert.deepEqual(await nextMessage(one), ["one", payload]);
      for (const topic of ["one", "two"]) assert.deepEqual(await nextMessage(both), [topic, payload]);
      for (const topic of ["one", "two", "three"]) assert.deepEqual(await nextMessage(all), [topic, payload]);
    }
    for (const client of [one, both, all]) client.close();
    await server.close(0);
  });

  it("drops messages beyond the high-water mark of a subscriber that does not read, and sends the others all", async () => {
    const highWaterMark = 20;
    const server = await openPub({ highWaterMark });
    const slow = await subscribed(server);
    const honest = await subscribed(server);
    slow.socket.pause();
    const count = 200;
    const filler = "x".repeat(100_000);
    for (let number = 0; number < count; number += 1) {
      server.publish(Buffer.from(`${number} ${filler}`));
      assert.ok((await nextMessage(honest))[0]?.startsWith(`${number} `));
    }
    const { dropped, sent } = server.counters;
    assert.equal(sent + dropped, 2 * count);
    assert.ok(dropped > 0 && server.behindCount === 1 && server.heldBytes > highWaterMark * filler.length);
    slow.socket.resume();
    const got: number[] = [];
    while (got.length < count - dropped) got.push(Number.parseInt((await nextMessage(slow))[0] ?? "", 10));
    assert.deepEqual(
      got,
      Array.from({ length: got.length }, (_, at) => at),
      "the first ones, in order",
    );
    await until(() => server.behindCount === 0, "a subscriber that has caught up");
    server.publish(Buffer.from("again"));
    assert.deepEqual(await nextMessage(slow), ["again"]);
    assert.deepEqual([server.heldBytes, reached(server)], [0, {}]);
    for (const client of [slow, honest]) client.close();
    await server.close(0);
  });

  it("drops by bytes where no number of messages is set, yet takes one message of any size", async () => {
    const server = await openPub({ highWaterMark: 0, bounds: { subscriberUnreadBytesMax: 5_000_000 } });
    const slow = await subscribed(server);
    slow.socket.pause();
    const large = Buffer.alloc(12_000_000, "x");
    for (let count = 0; count < 4; count += 1) server.publish(large);
    assert.deepEqual([server.counters.sent, server.counters.dropped], [2, 2]);
    slow.socket.resume();
    for (let count = 0; count < 2; count += 1) assert.equal((await nextMessage(slow))[0]?.length, large.length);
    slow.close();
    await server.close(0);
  });

  it("brings what was published to a client that reads slowly, also while it closes", async () => {
    const server = await openPub();
    const slow = await subscribed(server);
    slow.socket.pause();
    const large = Buffer.alloc(12_000_000, "x");
    server.publish(large);
    server.publish(Buffer.from("last"));
    const closing = server.close(20_000);
    slow.socket.resume();
    assert.equal((await nextMessage(slow))[0]?.length, large.length);
    assert.deepEqual(await nextMessage(slow), ["last"]);
    await closing;
    await slow.closed;
  });

  it("keeps no answers for a client that asks for signs of life and never reads", { timeout: 60_000 }, async () => {
    const server = await openPub({ bounds: { subscriberMessagesPerMinuteMax: 10_000_000 } });
    const deaf = await subscribed(server);
    deaf.socket.pause();
    const pings = Buffer.concat(
      Array.from({ length: 1_000 }, () => commandFrame("PING", Buffer.from("\0\0a context of 16b"))),
    );
    const sizeOf = () => process.memoryUsage().rss;
    const send = async (times: number) => {
      for (let count = 0; count < times; count += 1) {
        // The server writes one answer for each chunk that it reads, so the PINGs are sent apart.
        for (let at = 0; at < pings.length; at += pings.length / 100)
          deaf.send(pings.subarray(at, at + pings.length / 100));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => deaf.socket.writableLength === 0, "everything sent");
    };
    await send(20);
    const before = sizeOf();
    await send(200);
    assert.equal(server.connectionCount, 1);
    assert.ok(sizeOf() - before < 64 * 1024 * 1024, `${sizeOf() - before} bytes more`);
    deaf.close();
    await server.close(0);
  });

  it("sends a subscriber of all topics a few copies of a publish to many minions", async () => {
    const server = await openPub();
    const [all, one] = [await subscribed(server, ""), await subscribed(server, "id-99")];
    const topics = Array.from({ length: 100 }, (_, index) => `id-${index}`);
    server.publishTo(topics, Buffer.from("job"));
    assert.deepEqual(await nextMessage(one), ["id-99", "job"]);
    assert.deepEqual([server.counters.sent, server.counters.dropped], [publishCopiesMax + 1, 100 - publishCopiesMax]);
    server.publishTo(["id-1"], Buffer.from("next"));
    for (let copy = 0; copy < publishCopiesMax; copy += 1) await nextMessage(all);
    assert.deepEqual(await nextMessage(all), ["id-1", "next"]);
    for (const client of [all, one]) client.close();
    await server.close(0);
  });

  it("answers signs of life, and keeps a connection that says nothing for ever", async () => {
    const server = await openPub({ bounds: { greetingTimeoutMs: 1_500, messageTimeoutMs: 1_500, overdueLookMs: 10 } });
    const client = await subscribed(server);
    client.send(commandFrame("PING", Buffer.from("\0\0context")));
    const pong = commandFrame("PONG", Buffer.from("context"));
    assert.deepEqual(await client.take(pong.length), pong);
    await new Promise((resolve) => setTimeout(resolve, 1_800));
    server.publish(Buffer.from("still there"));
    assert.deepEqual(await nextMessage(client), ["still there"]);
    client.close();
    await server.close(0);
  });

  it("ends with nothing held when subscribers go in the middle of a message", async () => {
    const server = await openPub();
    const slow = await subscribed(server);
    slow.socket.pause();
    const large = Buffer.alloc(12_000_000, "x");
    for (let count = 0; count < 2; count += 1) server.publish(large);
    assert.equal(server.heldBytes, 2 * large.length);
    slow.close();
    await until(() => server.connectionCount === 0, "the end of the connection");
    assert.deepEqual([server.heldBytes, server.behindCount, server.topicCount], [0, 0, 0]);
    const again = await subscribed(server);
    server.publish(Buffer.from("whole"));
    assert.deepEqual(await nextMessage(again), ["whole"]);
    again.close();
    await server.close(0);
  });

  it("serves libzmq's SUB sockets, by topic, at all sizes, with heartbeats", { timeout: 60_000 }, async (test) => {
    const server = await openPub();
    const sockets = ["", "t", "other"].map((topic) => {
      const socket = new ZeromqSubscriber({
        linger: 0,
        receiveTimeout: 20_000,
        heartbeatInterval: 50,
        heartbeatTimeout: 5_000,
      });
      socket.connect(`tcp://127.0.0.1:${server.port}`);
      socket.subscribe(topic);
      return socket;
    });
    test.after(() => {
      for (const socket of sockets) socket.close();
    });
    await until(() => server.subscriberCount === 3, "subscriptions");
    const [all, some, other] = sockets as [ZeromqSubscriber, ZeromqSubscriber, ZeromqSubscriber];
    for (const bytes of [0, 1, 253, 254, 255, 256, 70_000, 3_000_000]) {
      const payload = Buffer.concat([Buffer.from("t"), Buffer.alloc(bytes, bytes % 251)]);
      server.publish(payload);
      for (const socket of [all, some]) assert.deepEqual(await socket.receive(), [payload]);
      server.publishTo(["topic"], payload);
      for (const socket of [all, some]) assert.deepEqual(await socket.receive(), [Buffer.from("topic"), payload]);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    some.unsubscribe("t");
    await until(() => server.subscriberCount === 2, "the end of a subscription");
    server.publish(Buffer.from("other"));
    assert.deepEqual(await other.receive(), [Buffer.from("other")]);
    assert.deepEqual(reached(server), {});
  });

  it("listens on a descriptor that another process has bound", { timeout: 60_000 }, async () => {
    const bound = createServer();
    await new Promise<void>((resolve) => bound.listen(0, "127.0.0.1", resolve));
    const { fd = -1 } = (bound as unknown as { _handle: { fd?: number } })._handle;
    const { port } = bound.address() as AddressInfo;
    const program = `
      const { openPub, until } = await import(${JSON.stringify(new URL("subscribing.js", import.meta.url).href)});
      const server = await openPub({ on: { descriptor: 3 } });
      process.stdout.write("listening");
      await until(() => server.subscriberCount === 1, "a subscriber");
      server.publish(Buffer.from("from " + server.port));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit", fd],
    });
    try {
      await once(child.stdout as Readable, "data");
      bound.close();
      const client = await RawClient.open(port);
      client.send(Buffer.concat([opening("SUB"), subscription("")]));
      await client.take(pubHelloBytes);
      assert.deepEqual(await nextMessage(client), [`from ${port}`]);
      client.close();
    } finally {
      bound.close();
      child.kill("SIGKILL");
    }
  });
});
