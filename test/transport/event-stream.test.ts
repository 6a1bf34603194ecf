import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { EventSubscriber, fireEvents } from "../../src/transport/event-stream-client.ts";
import { EventStreamServer, type EventStreamServerOptions } from "../../src/transport/event-stream-server.ts";
import { decodeEvent, encodeEvent, FrameReader, frameEvent } from "../../src/wire/event.ts";

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((accept) => {
    resolve = accept;
  });
  return { promise, resolve };
}

/** Follows a bus and returns its tags one by one. */
async function follow(
  path: string,
): Promise<{ next: () => Promise<string>; close: () => void; ended: Promise<unknown> }> {
  const tags: string[] = [];
  let wake = (): void => undefined;
  const ended = deferred<unknown>();
  const subscriber = await EventSubscriber.connect(path, {
    onEvent: (body) => {
      tags.push(decodeEvent(body).tag);
      wake();
    },
    onClose: (error) => ended.resolve(error),
  });
  const next = async (): Promise<string> => {
    while (tags.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return tags.shift() ?? "";
  };
  return { next, close: () => subscriber.close(), ended: ended.promise };
}

describe("event stream", () => {
  let folder: string;
  let server: EventStreamServer | undefined;
  const pubPath = (): string => join(folder, "pub.ipc");
  const ownPath = (): string => join(folder, "own.ipc");
  const pullPath = (): string => join(folder, "pull.ipc");
  const listen = async (options: Partial<EventStreamServerOptions> = {}): Promise<EventStreamServer> => {
    server = await EventStreamServer.listen({
      pubPath: pubPath(),
      pullPath: pullPath(),
      pubMode: 0o660,
      pullMode: 0o600,
      subscriberBytesMax: 1024 * 1024,
      framingOf: () => Promise.resolve("plain"),
      onEvent: (body) => server?.publish(frameEvent(body)),
      ...options,
    });
    return server;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "saltworks-bus-"));
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    await rm(folder, { recursive: true });
  });

  it("brings a fired event to every subscriber, in order and whole", async () => {
    await listen();
    const first = await follow(pubPath());
    const second = await follow(pubPath());
    const large = encodeEvent("large", { data: "x".repeat(300_000) });
    await fireEvents(pullPath(), [encodeEvent("one", { n: 1 }), large, encodeEvent("three", {})]);
    for (const { next, close } of [first, second]) {
      assert.deepEqual([await next(), await next(), await next()], ["one", "large", "three"]);
      close();
    }
  });

  it("gives a program of our own its events at once, while one of Salt's waits until its framing is known", async () => {
    const framing = deferred<"counted">();
    const bus = await listen({ framingOf: () => framing.promise });
    const salts = createConnection(pubPath());
    await once(salts, "connect");
    const ours = await follow(pubPath());
    const frame = frameEvent(encodeEvent("now", {}));
    bus.publish(frame);
    assert.equal(await ours.next(), "now");
    assert.equal(salts.bytesRead, 0);
    framing.resolve("counted");
    const [first] = (await once(salts, "data")) as [Buffer];
    assert.equal(first.readUInt32BE(0), frame.byteLength);
    assert.equal((await stat(ownPath())).mode, (await stat(pubPath())).mode);
    salts.destroy();
    ours.close();
  });

  it("follows a Salt master, which has one socket only, also where a killed master of ours left the other", async () => {
    const dead = createServer();
    dead.listen(`${ownPath()}.alive`);
    await once(dead, "listening");
    for (const isLeft of [false, true]) {
      if (isLeft) {
        await rename(`${ownPath()}.alive`, ownPath());
        dead.close();
      }
      const sent: Buffer[] = [];
      const salt = createServer((socket) => {
        socket.on("data", (chunk) => sent.push(chunk));
        socket.end(frameEvent(encodeEvent("from salt", {})));
      });
      salt.listen(pubPath());
      await once(salt, "listening");
      const follower = await follow(pubPath());
      assert.equal(await follower.next(), "from salt");
      assert.equal(await follower.ended, undefined);
      assert.deepEqual(sent, [], "nothing is said to it");
      salt.close();
      await once(salt, "close");
    }
  });

  it("creates the files with the given modes under any umask", async () => {
    const mask = process.umask(0);
    try {
      await listen();
    } finally {
      process.umask(mask);
    }
    assert.equal((await stat(pubPath())).mode & 0o777, 0o660);
    assert.equal((await stat(pullPath())).mode & 0o777, 0o600);
  });

  it("refuses a path on which another process answers, and leaves that one working", async () => {
    await listen();
    const follower = await follow(pubPath());
    const again = { pubPath: pubPath(), pullPath: pullPath(), pubMode: 0o600, pullMode: 0o600 };
    await assert.rejects(EventStreamServer.listen({ ...again, subscriberBytesMax: 1, onEvent: () => undefined }), {
      code: "MASTER_RUNNING",
    });
    await fireEvents(pullPath(), [encodeEvent("still here", {})]);
    assert.equal(await follower.next(), "still here");
    follower.close();
  });

  it("replaces the files that a killed process left", async () => {
    for (const path of [pubPath(), ownPath(), pullPath()]) {
      const child = createServer();
      child.listen(`${path}.alive`);
      await once(child, "listening");
      await rename(`${path}.alive`, path);
      child.close();
    }
    await listen();
    const follower = await follow(pubPath());
    await fireEvents(pullPath(), [encodeEvent("fresh", {})]);
    assert.equal(await follower.next(), "fresh");
    follower.close();
  });

  it("does not touch a file that is not a socket, and names a path that is too long", async () => {
    await writeFile(pubPath(), "precious");
    await assert.rejects(listen(), { code: "CONFIG_INVALID", message: /exists and is not a socket/ });
    assert.equal((await stat(pubPath())).size, 8);
    const long = join(folder, "x".repeat(120));
    await assert.rejects(listen({ pubPath: long, pullPath: join(folder, "ok.ipc") }), { message: /too long/ });
  });

  it("drops whole frames for a subscriber that does not read, counts them, and serves the others", async () => {
    const behind = deferred<number>();
    const bus = await listen({ subscriberBytesMax: 64 * 1024, onSubscriberDrop: behind.resolve });
    const sleeper = createConnection(pubPath());
    sleeper.pause();
    await once(sleeper, "connect");
    const follower = await follow(pubPath());
    const frame = frameEvent(encodeEvent("filler", { data: "x".repeat(16_000) }));
    let published = 0;
    while (bus.droppedEvents === 0) {
      bus.publish(frame);
      published += 1;
      assert.equal(await follower.next(), "filler");
      assert.ok(published < 10_000, "nothing was ever dropped");
    }
    assert.ok((await behind.promise) >= 1);
    const reader = new FrameReader();
    let received = 0;
    const all = deferred<void>();
    sleeper.on("data", (chunk) => {
      for (const body of reader.push(chunk)) {
        if (decodeEvent(body).tag === "last") all.resolve();
        else received += 1;
      }
    });
    sleeper.resume();
    while (received < published - bus.droppedEvents) await once(sleeper, "data");
    bus.publish(frameEvent(encodeEvent("last", {})));
    await all.promise;
    assert.equal(received, published - bus.droppedEvents);
    sleeper.destroy();
    follower.close();
  });

  it("tells a program of our own how many events it lost, once it reads on, and nothing new to one of Salt's", {
    timeout: 20_000,
  }, async () => {
    // More than a socket holds before it asks to be drained, in every release of Node.js.
    const bus = await listen({ subscriberBytesMax: 256 * 1024 });
    const frame = frameEvent(encodeEvent("filler", { data: "x".repeat(16_000) }));
    for (const [path, isTold] of [
      [ownPath(), true],
      [pubPath(), false],
    ] as const) {
      const before = bus.droppedEvents;
      const sleeper = createConnection(path);
      sleeper.pause();
      await once(sleeper, "connect");
      while (bus.subscriberCount === 0) await new Promise((resolve) => setImmediate(resolve));
      while (bus.droppedEvents < before + 3) {
        bus.publish(frame);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const dropped = bus.droppedEvents - before;
      const reader = new FrameReader();
      const told: unknown[] = [];
      const all = deferred<void>();
      const readOn = deferred<void>();
      sleeper.on("data", (chunk) => {
        for (const { body, isMasters } of reader.frames(chunk)) {
          const { tag, data } = decodeEvent(body);
          if (tag === "saltworks/events/lost") told.push([data.get("count"), isMasters]);
          if (told.length > 0) readOn.resolve();
          if (tag === "last") all.resolve();
        }
      });
      sleeper.resume();
      // No further event is needed for that.
      if (isTold) await readOn.promise;
      while (bus.fullestSubscriberBytes > 0) await new Promise((resolve) => setImmediate(resolve));
      bus.publish(frameEvent(encodeEvent("last", {})));
      await all.promise;
      assert.deepEqual(told, isTold ? [[dropped, true]] : []);
      sleeper.destroy();
      while (bus.subscriberCount > 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("reports once that a subscriber has fallen behind, until it has caught up", async () => {
    let said = 0;
    const bus = await listen({
      subscriberBytesMax: 64 * 1024,
      onSubscriberDrop: () => {
        said += 1;
      },
    });
    const sleeper = createConnection(pubPath());
    sleeper.pause();
    const follower = await follow(pubPath());
    const [large, small] = [16_000, 10].map((length) =>
      frameEvent(encodeEvent("filler", { data: "x".repeat(length) })),
    ) as [Buffer, Buffer];
    let published = 0;
    const publish = async (frame: Buffer): Promise<void> => {
      bus.publish(frame);
      published += 1;
      assert.ok(published < 10_000, "nothing was ever dropped");
      assert.equal(await follower.next(), "filler");
    };
    while (bus.droppedEvents === 0) await publish(large);
    for (let round = 0; round < 20; round += 1) {
      await publish(small);
      await publish(large);
    }
    assert.ok(bus.droppedEvents > 20);
    assert.equal(said, 1);
    const received = once(sleeper, "data");
    sleeper.resume();
    await received;
    while (bus.fullestSubscriberBytes > 0) await new Promise((resolve) => setImmediate(resolve));
    sleeper.pause();
    const dropped = bus.droppedEvents;
    while (bus.droppedEvents === dropped) await publish(large);
    assert.equal(said, 2);
    sleeper.destroy();
    follower.close();
  });

  it("turns away programs over the bound of one socket, reports it, and goes on serving the others", async () => {
    const refused = deferred<void>();
    await listen({ connectionsMax: 1, onRefused: refused.resolve });
    const first = await follow(pubPath());
    const second = createConnection(ownPath());
    await Promise.all([once(second.resume(), "close"), refused.promise]);
    await fireEvents(pullPath(), [encodeEvent("still", {})]);
    assert.equal(await first.next(), "still");
    first.close();
  });

  it("counts subscribers as they come and go", async () => {
    const bus = await listen();
    const follower = await follow(pubPath());
    await fireEvents(pullPath(), [encodeEvent("seen", {})]);
    await follower.next();
    assert.equal(bus.subscriberCount, 1);
    follower.close();
    const other = await follow(pubPath());
    await fireEvents(pullPath(), [encodeEvent("seen", {})]);
    await other.next();
    assert.equal(bus.subscriberCount, 1);
    other.close();
  });

  it("closes a connection that sends malformed frames, reports it, and takes events from others", async () => {
    const bad = deferred<unknown>();
    await listen({ onBadFrame: bad.resolve });
    const follower = await follow(pubPath());
    const vandal = createConnection(pullPath());
    vandal.write("this is not a frame");
    await once(vandal.resume(), "close");
    assert.equal(((await bad.promise) as { code?: string }).code, "WIRE_MALFORMED");
    await fireEvents(pullPath(), [encodeEvent("well", {})]);
    assert.equal(await follower.next(), "well");
    follower.close();
  });

  it("gives subscribers what waits for them when it closes, then ends them and removes its files", async () => {
    const bus = await listen();
    const follower = await follow(pubPath());
    bus.publish(Buffer.concat([frameEvent(encodeEvent("a", {})), frameEvent(encodeEvent("b", {}))]), 2);
    await bus.close();
    server = undefined;
    assert.deepEqual([await follower.next(), await follower.next()], ["a", "b"]);
    assert.equal(await follower.ended, undefined);
    for (const path of [pubPath(), ownPath(), pullPath()]) await assert.rejects(stat(path), { code: "ENOENT" });
  });

  it("tells a subscriber when the stream is malformed", async () => {
    const path = join(folder, "odd.ipc");
    const odd = createServer((socket) => socket.end("odd bytes"));
    odd.listen(path);
    await once(odd, "listening");
    const { ended } = await follow(path);
    assert.equal(((await ended) as { code?: string }).code, "WIRE_MALFORMED");
    odd.close();
  });

  it("reports that no process listens", async () => {
    await assert.rejects(follow(pubPath()), { code: "MASTER_UNREACHABLE" });
    await assert.rejects(fireEvents(pullPath(), [encodeEvent("x", {})]), { code: "MASTER_UNREACHABLE" });
  });
});
