/** A client that sends bytes as they are. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  // The server may close while we still send.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Sends bytes, and reads until the server closes the connection. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await open(port);
  let text = "";
  socket.on("data", (part) => {
    text += part.toString();
  });
  socket.write(bytes);
  await once(socket, "close");
  return text;
}

/** Requests of one connection, sent at once; the last one asks the server to close. */
export function pipelined(heads: readonly string[], last: string): string {
  const whole = heads.map((head) => `${head}\r\nHost: a\r\n\r\n`);
  return `${whole.join("")}${last}\r\nHost: a\r\nConnection: close\r\n\r\n`;
}

export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
