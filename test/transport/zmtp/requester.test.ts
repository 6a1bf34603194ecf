import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { Reply, Router } from "zeromq";
import { freePort } from "../../../bench/free-ports.ts";
import { commandFrame } from "../../../src/transport/zmtp/frames.ts";
import { Requester } from "../../../src/transport/zmtp/requester.ts";

const host = "127.0.0.1";
const timeoutMs = 10_000;
const endings: (() => void)[] = [];

afterEach(() => {
  for (const end of endings.splice(0).reverse()) end();
});

function requesterTo(port: number): Requester {
  const requester = new Requester({ host, port });
  endings.push(() => requester.abandon(new Error("the test is over")));
  return requester;
}

async function replying(port = 0): Promise<{ readonly socket: Reply; readonly port: number }> {
  const socket = new Reply({ linger: 0 });
  endings.push(() => socket.close());
  await socket.bind(`tcp://${host}:${port}`);
  return { socket, port: Number((socket.lastEndpoint ?? "").split(":").at(-1)) };
}

/** A TCP server of which the test writes every byte. */
async function rawServer(
  onSocket: (socket: Socket) => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    endings.push(() => socket.destroy());
    onSocket(socket);
  });
  endings.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return { server, port: (server.address() as { port: number }).port };
}

/** What a ROUTER of ZMTP 3.0 sends before messages. */
const routerGreeting = Buffer.concat([
  Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]),
  Buffer.from("NULL".padEnd(20, "\0")),
  Buffer.alloc(32),
  commandFrame("READY", Buffer.from("\x0bSocket-Type\0\0\0\x06ROUTER", "latin1")),
]);

describe("the requester", () => {
  it("asks ZeroMQ's own sockets, one request after the other, with small and large replies", async () => {
    const { socket, port } = await replying();
    const requester = requesterTo(port);
    for (const size of [0, 3, 300, 5_000_000]) {
      const asked = requester.request(Buffer.alloc(size, "q"), { timeoutMs });
      const [request] = await socket.receive();
      assert.equal(request?.length, size);
      await socket.send(Buffer.alloc(size, "r"));
      assert.ok(Buffer.alloc(size, "r").equals(await asked), `${size} bytes`);
    }
  });

  it("takes one request at a time", async () => {
    const { port } = await replying();
    const requester = requesterTo(port);
    const first = requester.request(Buffer.from("a"), { timeoutMs });
    await assert.rejects(requester.request(Buffer.from("b"), { timeoutMs }), TypeError);
    requester.abandon(new Error("enough"));
    await assert.rejects(first, /enough/);
  });

  it("connects again until a program listens, and asks it once", async () => {
    const port = await freePort();
    const requester = requesterTo(port);
    const asked = requester.request(Buffer.from("early"), { timeoutMs });
    const { socket } = await replying(port);
    const [request] = await socket.receive();
    await socket.send("late");
    assert.deepEqual([String(request), String(await asked)], ["early", "late"]);
  });

  it("is told at once when the connection ends before the reply, and sends nothing twice", async () => {
    const router = new Router({ linger: 0 });
    await router.bind(`tcp://${host}:0`);
    const requester = requesterTo(Number((router.lastEndpoint ?? "").split(":").at(-1)));
    const asked = requester.request(Buffer.from("a"), { timeoutMs });
    const [, , request] = await router.receive();
    assert.equal(String(request), "a");
    router.close();
    await assert.rejects(asked, { code: "MASTER_UNREACHABLE" });
  });

  it("gives up at its timeout and at its signal, and loses the late reply", async () => {
    const router = new Router({ linger: 0 });
    endings.push(() => router.close());
    await router.bind(`tcp://${host}:0`);
    const requester = requesterTo(Number((router.lastEndpoint ?? "").split(":").at(-1)));
    const first = requester.request(Buffer.from("first"), { timeoutMs: 1_000 });
    const isLate = assert.rejects(first, { code: "REQUEST_TIMEOUT" });
    const [name] = await router.receive();
    await isLate;
    const ending = new AbortController();
    const second = requester.request(Buffer.from("second"), { timeoutMs, signal: ending.signal });
    await router.receive();
    ending.abort(new Error("the caller has left"));
    await assert.rejects(second, /the caller has left/);
    await router.send([name ?? "", "", "late"]).catch(() => undefined);
    const third = requester.request(Buffer.from("third"), { timeoutMs });
    const [thirdName] = await router.receive();
    await router.send([thirdName ?? "", "", "in time"]);
    assert.equal(String(await third), "in time");
  });

  it("answers a heartbeat while it waits", async () => {
    const pong = new Promise<Buffer>((resolve) => {
      void rawServer((socket) => {
        socket.write(routerGreeting);
        let seen = Buffer.alloc(0);
        socket.on("data", (bytes: Buffer) => {
          seen = Buffer.concat([seen, bytes]);
          if (seen.includes("asked")) socket.write(commandFrame("PING", Buffer.from("\0\x0acontext")));
          const at = seen.indexOf("PONG");
          if (at >= 0 && seen.length >= at + 11) resolve(seen.subarray(at));
        });
      }).then(({ port }) =>
        requesterTo(port)
          .request(Buffer.from("asked"), { timeoutMs })
          .catch(() => undefined),
      );
    });
    assert.equal(String(await pong), "PONGcontext");
  });

  it("refuses a port that demands a password, or is not for requests", async () => {
    const text = routerGreeting.toString("latin1");
    const greetings = [text.replace("NULL\0", "PLAIN"), text.replace("ROUTER", "PUSHER")];
    for (const greeting of greetings) {
      const { port } = await rawServer((socket) => void socket.write(greeting, "latin1"));
      const asked = requesterTo(port).request(Buffer.from("a"), { timeoutMs });
      await assert.rejects(asked, (error: { code: string; cause: { code: string } }) => {
        assert.deepEqual([error.code, error.cause.code], ["MASTER_UNREACHABLE", "WIRE_MALFORMED"]);
        return true;
      });
    }
  });
});
