/** A TCP proxy that a test can turn into a black hole: connections stay open, and nothing passes. */
import { connect, createServer, type Server, type Socket } from "node:net";

export class BlackHole {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHole = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(targetPort: number): Promise<BlackHole> {
    const server = createServer();
    const proxy = new BlackHole(server);
    server.on("connection", (from) => proxy.#join(from, connect(targetPort, "127.0.0.1")));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  swallow(): void {
    this.#isHole = true;
    for (const socket of this.#sockets) socket.pause();
  }

  pass(): void {
    this.#isHole = false;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(from: Socket, to: Socket): void {
    for (const [own, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(own);
      own.on("data", (bytes) => other.write(bytes));
      own.on("error", () => other.destroy());
      own.on("close", () => {
        this.#sockets.delete(own);
        other.destroy();
      });
      if (this.#isHole) own.pause();
    }
  }
}
