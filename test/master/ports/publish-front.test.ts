/** The publish port in the master: its thread sends in order, is replaced when it is lost, and reports why a port cannot be opened. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import pino from "pino";
import { Subscriber } from "zeromq";
import { hasCode } from "../../../src/errors.ts";
import { publishesHandedMax } from "../../../src/limits.ts";
import { PublishFront, type PublishFrontOptions } from "../../../src/master/ports/publish-front.ts";
import { until } from "../../transport/zmtp/publish/subscribing.ts";

const timeoutMs = 20_000;
const failingThread = new URL("./publish/failing-thread.js", import.meta.url);

function openFront(options: Partial<PublishFrontOptions> = {}): Promise<PublishFront> {
  return PublishFront.bind({
    host: "127.0.0.1",
    port: 0,
    backlog: 100,
    keepalive: { isOn: true, idleSeconds: 300, count: 5, intervalSeconds: 30 },
    addressConnectionsMax: 0,
    proxies: [],
    highWaterMark: 1_000,
    isFiltering: false,
    heap: { youngMb: 12, oldMb: 512 },
    logger: pino({ level: "silent" }),
    onFault: (error) => assert.fail(error),
    ...options,
  });
}

/** A log and the lines written into it. */
function logLines(): { readonly logger: pino.Logger; readonly texts: () => readonly string[] } {
  const lines: string[] = [];
  const logger = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  return { logger, texts: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg) };
}

function subscribe(front: PublishFront, ...topics: string[]): Subscriber {
  const socket = new Subscriber({ linger: 0, reconnectInterval: 20 });
  socket.connect(front.boundEndpoint);
  if (topics.length === 0) socket.subscribe();
  else socket.subscribe(...topics);
  return socket;
}

async function subscribers(front: PublishFront, count: number): Promise<void> {
  for (;;) {
    await front.look(timeoutMs);
    if (front.stats.subscribers === count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("PublishFront", { timeout: 60_000 }, () => {
  it("sends in the order of the calls, more than its thread takes at once", async () => {
    const front = await openFront({ highWaterMark: 10_000 });
    const socket = subscribe(front);
    try {
      await subscribers(front, 1);
      const count = 3_000;
      const frame = Buffer.alloc(1_000);
      const sent = Array.from({ length: count }, (_, number) => {
        frame.writeUInt32BE(number);
        return front.send(frame, undefined);
      });
      for (let number = 0; number < count; number += 1) {
        const [received] = await socket.receive();
        assert.equal(received?.readUInt32BE(), number);
      }
      await Promise.all(sent);
      await front.look(timeoutMs);
      assert.deepEqual(front.counters, { publishes: count, dropped: 0, threadsLost: 0 });
      assert.deepEqual([front.stats.sent, front.stats.dropped, front.stats.heldBytes], [count, 0, 0]);
    } finally {
      socket.close();
      await front.close();
    }
  });

  it("addresses minions one by one where the master filters, and all where it cannot", async () => {
    const front = await openFront({ isFiltering: true, hasLowerMasters: true });
    const topic = (id: string) => createHash("sha1").update(id).digest("hex");
    const [web1, web2] = [subscribe(front, "broadcast", topic("web1")), subscribe(front, "broadcast", topic("web2"))];
    const syndic = subscribe(front, "broadcast", "syndic");
    try {
      await subscribers(front, 3);
      await front.send(Buffer.from("one"), () => ["web1", "db1"]);
      await front.send(Buffer.from("both"), () => ["web1", "web2"]);
      await front.send(Buffer.from("all"), undefined);
      await front.send(Buffer.from("nobody in particular"), () => []);
      const texts = async (socket: Subscriber, count: number) => {
        const received: string[] = [];
        while (received.length < count) received.push((await socket.receive()).join(" "));
        return received;
      };
      const toAll = ["broadcast all", "broadcast nobody in particular"];
      assert.deepEqual(await texts(web1, 4), [`${topic("web1")} one`, `${topic("web1")} both`, ...toAll]);
      assert.deepEqual(await texts(web2, 3), [`${topic("web2")} both`, ...toAll]);
      assert.deepEqual(await texts(syndic, 4), ["syndic one", "syndic both", ...toAll]);
    } finally {
      for (const socket of [web1, web2, syndic]) socket.close();
      await front.close();
    }
  });

  it("names option and errno of a port that another process has, or that this user may not open", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const expect = async (options: Partial<PublishFrontOptions>, errno: string) => {
      await assert.rejects(openFront(options), (error: Error & { detail?: object }) => {
        assert.ok(hasCode(error, "MASTER_RUNNING"));
        assert.match(error.message, new RegExp(`publish_port, interface.*${errno}`));
        assert.equal((error.detail as { errno?: string }).errno, errno);
        return true;
      });
    };
    await expect({ port }, "EADDRINUSE");
    await expect({ host: "192.0.2.1" }, "EADDRNOTAVAIL");
    await new Promise((resolve) => taken.close(resolve));
  });

  it("fails the master if the thread ends soon after its start", async () => {
    let fault: Error | undefined;
    const onFault = (error: Error) => {
      fault = error;
    };
    const front = await openFront({ filename: failingThread, onFault });
    await front.send(Buffer.from("first"), undefined);
    await front.send(Buffer.from("fail"), undefined);
    await until(() => fault !== undefined, "the fault");
    assert.ok(hasCode(fault, "WORKER_LOST"));
    assert.deepEqual(front.counters, { publishes: 2, dropped: 1, threadsLost: 1 });
    await assert.rejects(front.send(Buffer.from("third"), undefined), (error) => hasCode(error, "QUEUE_FULL"));
    await front.close();
  });

  it("replaces a thread that ends later, on the same port, and its subscribers come back", async () => {
    const front = await openFront({ filename: failingThread, settleMs: 0 });
    const endpoint = front.boundEndpoint;
    const socket = subscribe(front);
    const received: string[] = [];
    // Reads all the time, because libzmq subscribes again to a restarted publisher only when its program reads.
    const reading = (async () => {
      for await (const [part] of socket) received.push(String(part));
    })();
    try {
      await subscribers(front, 1);
      await front.send(Buffer.from("first"), undefined);
      await until(() => received.length === 1, "the first publish");
      await front.send(Buffer.from("fail"), undefined);
      const waiting = front.send(Buffer.from("for nobody yet"), undefined);
      await until(() => front.counters.threadsLost === 1, "the end of the thread");
      await waiting;
      await subscribers(front, 1);
      await front.send(Buffer.from("last"), undefined);
      await until(() => received.at(-1) === "last", "the last publish");
      assert.deepEqual(
        received.filter((text) => text !== "for nobody yet"),
        ["first", "last"],
      );
      await front.look(timeoutMs);
      assert.equal(front.boundEndpoint, endpoint);
      assert.ok(
        front.counters.dropped >= 1 && front.stats.accepted >= 2,
        "counts go on from those of the former thread",
      );
    } finally {
      socket.close();
      await reading;
      await front.close();
    }
  });

  const watches: Readonly<Record<string, string>> = {
    hang: "a thread that hangs at a publish",
    "hang soon": "a thread that hangs while nothing is published",
  };
  for (const [fault, what] of Object.entries(watches)) {
    it(`replaces ${what}, says so, and goes on`, async () => {
      const lines = logLines();
      // The limit gives a thread time to start and to answer on a busy machine.
      const watch = { hangMs: 2_000, lookMs: 200 };
      const front = await openFront({ filename: failingThread, settleMs: 0, watch, logger: lines.logger });
      const endpoint = front.boundEndpoint;
      try {
        await front.send(Buffer.from(fault), undefined);
        // More publishes than the hung thread may be given; the rest waits for the next thread.
        const count = fault === "hang" ? publishesHandedMax + 44 : 0;
        const waiting = Array.from({ length: count }, () => front.send(Buffer.from("waits"), undefined));
        await until(() => front.counters.threadsLost === 1, "the end of the thread");
        await Promise.all(waiting);
        const socket = subscribe(front);
        await subscribers(front, 1);
        await front.send(Buffer.from("last"), undefined);
        const [received] = await socket.receive();
        socket.close();
        assert.equal(String(received), "last");
        assert.equal(front.boundEndpoint, endpoint);
        assert.ok(lines.texts().includes("the publish thread hangs and is replaced"), lines.texts().join("\n"));
      } finally {
        await front.close();
      }
    });
  }

  it("fails the master if a thread hangs that cannot be ended, and closes though it does not end", async () => {
    let fault: Error | undefined;
    const lines = logLines();
    const front = await openFront({
      filename: failingThread,
      settleMs: 0,
      watch: { hangMs: 2_000, endMs: 500 },
      logger: lines.logger,
      onFault: (error) => {
        fault = error;
      },
    });
    await front.send(Buffer.from("stick"), undefined);
    await until(() => fault !== undefined, "the fault");
    assert.ok(hasCode(fault, "WORKER_LOST"));
    assert.match(String(fault?.message), /hangs and does not end/);
    await assert.rejects(front.send(Buffer.from("later"), undefined), (error) => hasCode(error, "QUEUE_FULL"));
    await front.close();
  });
});
