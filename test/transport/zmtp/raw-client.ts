/** A client that sends any bytes to a `RouterServer`, and reads the answer and the end of its connection. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { SharedMemory } from "../../../src/transport/zmtp/bodies/shared-memory.ts";
import type { Peer } from "../../../src/transport/zmtp/peer.ts";
import type { RouterServerOptions } from "../../../src/transport/zmtp/router-options.ts";
import { RouterServer } from "../../../src/transport/zmtp/router-server.ts";

export type OpenServer = {
  readonly server: RouterServer;
  readonly messages: { readonly peer: Peer; readonly parts: readonly Buffer[] }[];
};

/** Keeps the received bytes; sends nothing by itself. */
export async function openServer(options: Partial<RouterServerOptions> = {}): Promise<OpenServer> {
  const messages: { peer: Peer; parts: readonly Buffer[] }[] = [];
  const server = await RouterServer.listen({
    host: "127.0.0.1",
    port: 0,
    backlog: 100,
    keepalive: { isOn: true, idleSeconds: 300, count: -1, intervalSeconds: -1 },
    messageBytesMax: 1_000_000,
    connectionsMax: 1_000,
    addressConnectionsMax: 0,
    memory: new SharedMemory(),
    isProxy: () => false,
    mayBeLarge: () => true,
    onOwing: () => undefined,
    onMessage: (peer, parts) => messages.push({ peer, parts: parts.map((part) => Buffer.from(part)) }),
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
  return { server, messages };
}

export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      socket.emit("received");
    });
    // Not `once` of node:events, which rejects when the connection is reset.
    this.closed = new Promise((resolve) => socket.once("close", resolve));
  }

  static async open(port: number, from?: string): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1", ...(from === undefined ? {} : { localAddress: from }) });
    const client = new RawClient(socket);
    await once(socket, "connect");
    return client;
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next `count` bytes. @throws Error if the connection ends before */
  async take(count: number): Promise<Buffer> {
    while (this.#received.length < count) {
      if (this.socket.closed) throw new Error(`the connection ended ${count - this.#received.length} bytes too soon`);
      await Promise.race([once(this.socket, "received"), this.closed]);
    }
    const taken = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return taken;
  }

  close(): void {
    this.socket.destroy();
  }
}
