/**
 * Ports of 127.0.0.1 for the connections of a member to its own server. The server takes the first of them that is free at each start, and clients try them in
 * turn. So a program that takes a port before the server listens, or while it is down, does not keep the member from its server.
 */
import { createServer, type Server } from "node:net";
import { clusterClientPorts } from "../../limits.ts";
import { loopbackHost } from "./access.ts";

/** Ports that are free now. @throws the system's error */
export async function chooseClientPorts(): Promise<readonly number[]> {
  const opened: Server[] = [];
  try {
    // Held open together, so that they differ.
    for (let count = 0; count < clusterClientPorts; count += 1) opened.push(await listening(0));
    return opened.map((server) => {
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : 0;
    });
  } finally {
    await Promise.all(opened.map(closed));
  }
}

/** The first one on which a server may listen now. */
export async function firstFreePort(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) {
    const server = await listening(port).catch(() => undefined);
    if (server === undefined) continue;
    await closed(server);
    return port;
  }
  return undefined;
}

function listening(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ port, host: loopbackHost, exclusive: true }, () => resolve(server));
  });
}

function closed(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
