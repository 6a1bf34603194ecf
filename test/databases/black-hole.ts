/** A TCP proxy that a test can turn into a black hole, in which connections stay open and nothing passes. It also cuts connections. */
import { connect, createServer, type Server, type Socket } from "node:net";

export class BlackHole {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHole = false;
  /** Bytes of clients that still pass. */
  #bytesLeft = Number.POSITIVE_INFINITY;
  #lost: string | undefined;

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

  /** Cuts the connection whose client has sent this many more bytes. It does so once. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /**
   * Ends each connection once its client has sent `text`: the server reads all that was sent and closes, and no answer passes from then on.
   * A server may still answer what came before `text`, so an answer alone does not show that it has read `text`.
   */
  loseAnswerTo(text: string): void {
    this.#lost = text;
  }

  pass(): void {
    this.#isHole = false;
    this.#lost = undefined;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(from: Socket, to: Socket): void {
    let isLost = false;
    const pass = (own: Socket, other: Socket, bytes: Buffer) => {
      if (own === to && isLost) return;
      if (own === from && bytes.length > this.#bytesLeft) {
        this.#bytesLeft = Number.POSITIVE_INFINITY;
        from.destroy();
        return;
      }
      if (own === from) this.#bytesLeft -= bytes.length;
      other.write(bytes);
      if (own !== from || this.#lost === undefined || !bytes.includes(this.#lost)) return;
      isLost = true;
      to.end();
    };
    for (const [own, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(own);
      own.on("data", (bytes: Buffer) => pass(own, other, bytes));
      own.on("error", () => other.destroy());
      own.on("close", () => {
        this.#sockets.delete(own);
        other.destroy();
      });
      if (this.#isHole) own.pause();
    }
  }
}
