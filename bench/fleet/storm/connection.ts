/** One TCP connection that speaks ZMTP as a REQ or SUB socket, read into a buffer that all connections of the process share. */
import { connect, type Socket } from "node:net";
import { SaltworksError } from "../../../src/errors.ts";
import { MessageReader, opening, requestBytes, type SocketType, subscribeToAll } from "./zmtp.ts";

/** The largest read of one turn. It is processed before the next connection is read. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);
const connectTimeoutMs = 30_000;

/** Bytes that all connections of this process sent and received, greetings and framing included. */
export type Traffic = { readonly sentBytes: number; readonly receivedBytes: number };

let sentBytes = 0;
let receivedBytes = 0;

export function trafficSoFar(): Traffic {
  return { sentBytes, receivedBytes };
}

export function trafficSince(before: Traffic): Traffic {
  return { sentBytes: sentBytes - before.sentBytes, receivedBytes: receivedBytes - before.receivedBytes };
}

export class Connection {
  /** Called with each message; the view is only valid during the call. */
  onMessage: (payload: Buffer) => void = () => {};
  onClose: () => void = () => {};
  readonly #socket: Socket;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @throws SaltworksError MASTER_UNREACHABLE */
  static open(o: { host: string; port: number; type: SocketType }): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(new SaltworksError("MASTER_UNREACHABLE", `no connection to ${o.host}:${o.port}: ${why}`));
      };
      const reader = new MessageReader(
        () => {
          clearTimeout(timer);
          if (o.type === "SUB") connection.send(subscribeToAll);
          resolve(connection);
        },
        (payload) => connection.onMessage(payload),
        (framed) => connection.send(framed),
      );
      const socket = connect({
        host: o.host,
        port: o.port,
        noDelay: true,
        onread: {
          buffer: readBuffer,
          callback: (bytes) => {
            receivedBytes += bytes;
            try {
              reader.push(readBuffer.subarray(0, bytes));
            } catch (error) {
              fail((error as Error).message);
            }
            return true;
          },
        },
      });
      const connection = new Connection(socket);
      const timer = setTimeout(() => fail("no greeting in time"), connectTimeoutMs);
      socket.once("connect", () => connection.send(opening(o.type)));
      socket.on("error", (error) => fail(error.message));
      socket.once("close", () => {
        fail("closed by the master");
        if (!connection.#isClosed) connection.onClose();
      });
    });
  }

  /** Sends bytes that are already framed. */
  send(framed: Uint8Array): void {
    sentBytes += framed.byteLength;
    this.#socket.write(framed);
  }

  /** One request and a copy of its reply, for requests that are not measured. @throws SaltworksError REQUEST_TIMEOUT */
  request(payload: Uint8Array, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.onMessage = () => {};
        reject(new SaltworksError("REQUEST_TIMEOUT", `no reply in ${timeoutMs} ms`, { timeoutMs }));
      }, timeoutMs);
      this.onMessage = (reply) => {
        clearTimeout(timer);
        resolve(Buffer.from(reply));
      };
      this.send(requestBytes(payload));
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }
}
