/** A server on loopback whose clients send messages that begin with their length. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export type FramedServer = { readonly port: number; readonly close: () => Promise<void> };

/**
 * @param lengthOf - the bytes of the first message, its length included. Gets at least four bytes.
 * @param answerTo - undefined for a message without an answer
 */
export async function startFramedServer(
  lengthOf: (unread: Buffer) => number,
  answerTo: (message: Buffer, port: number) => Buffer | undefined,
): Promise<FramedServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let unread = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      unread = Buffer.concat([unread, bytes]);
      while (unread.length >= 4 && unread.length >= lengthOf(unread)) {
        const message = unread.subarray(0, lengthOf(unread));
        unread = unread.subarray(message.length);
        const answer = answerTo(message, port);
        if (answer !== undefined) socket.write(answer);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
