/** Both ports probe idle connections as the options say: read from the kernel, for connections accepted early and late. */
import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import koffi from "koffi";
import { openPub, until } from "./publish/subscribing.ts";
import { openServer, RawClient } from "./raw-client.ts";

type Getsockopt = (fd: number, level: number, name: number, value: Buffer, size: number[]) => number;
type Accepted = { readonly fd: number; readonly localPort: number; readonly remotePort: number };

const keepalive = { isOn: true, idleSeconds: 77, count: 4, intervalSeconds: 13 };
/** Connections accepted within a second of the port's opening have Node's own count and interval. */
const lateMs = 1_200;
const socketLevel = 1;
const tcpLevel = 6;

/** The accepted ends of this process's connections; Node.js has no documented list of them. */
function acceptedAt(port: number): readonly Accepted[] {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles: () => unknown[] };
  return _getActiveHandles
    .call(process)
    .filter((handle): handle is Socket => handle instanceof Socket && handle.localPort === port)
    .map((socket) => ({
      fd: (socket as unknown as { _handle: { fd: number } })._handle.fd,
      localPort: port,
      remotePort: socket.remotePort ?? 0,
    }));
}

async function keepaliveOf(client: RawClient): Promise<Record<string, number>> {
  const { localPort, remotePort } = client.socket;
  const find = () => acceptedAt(remotePort ?? 0).find((accepted) => accepted.remotePort === localPort);
  await until(() => find() !== undefined, "the accepted connection");
  const fd = find()?.fd ?? -1;
  const getsockopt: Getsockopt = koffi
    .load(null)
    .func("int getsockopt(int fd, int level, int name, _Out_ void *value, _Inout_ unsigned int *size)");
  const read = (level: number, name: number) => {
    const value = Buffer.alloc(4);
    assert.equal(getsockopt(fd, level, name, value, [value.length]), 0);
    return value.readInt32LE();
  };
  return { isOn: read(socketLevel, 9), idle: read(tcpLevel, 4), interval: read(tcpLevel, 5), count: read(tcpLevel, 6) };
}

const ports = {
  "request port": async () => (await openServer({ keepalive })).server,
  "publish port": () => openPub({ keepalive }),
};

describe("keepalive", { skip: process.platform === "linux" ? false : "options of Linux are read" }, () => {
  for (const [name, open] of Object.entries(ports)) {
    it(`is that of the options at the ${name}`, async () => {
      const server = await open();
      const clients: RawClient[] = [];
      try {
        const early = await RawClient.open(server.port);
        clients.push(early);
        const { isOn, idle } = await keepaliveOf(early);
        assert.deepEqual({ isOn, idle }, { isOn: 1, idle: 77 });
        await delay(lateMs);
        const late = await RawClient.open(server.port);
        clients.push(late);
        assert.deepEqual(await keepaliveOf(late), { isOn: 1, idle: 77, interval: 13, count: 4 });
      } finally {
        for (const client of clients) client.close();
        await server.close(0);
      }
    });
  }
});
