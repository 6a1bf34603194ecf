/**
 * One client's connection to a ROUTER of ours: greeting, requests in, replies out, and what it holds meanwhile.
 * It keeps the books of itself; `RouterServer` decides what they may come to.
 */
import { Socket } from "node:net";
import {
  largeRequestBytes,
  readChunkBytes,
  requestPartsMax,
  smallReplyBytes,
  zmtpCommandBytesMax,
} from "../../limits.ts";
import { commandFrame, type Framing, readCommand, replyFrame, replyHeads } from "./frames.ts";
import { Greeting, isReadyOfPartner, signature } from "./handshake.ts";
import { MessageReader, type MessageVerdict } from "./message-reader.ts";

/** Why the server closed a connection; each has a counter. The first four are what its bytes can show. */
export const closeReasons = [
  "malformed",
  "parts",
  "messageBytes",
  "refusedLarge",
  "greetingTimeout",
  "messageTimeout",
  "unanswered",
  "unreadReplies",
  "heldBytes",
  "address",
  "connections",
] as const;
export type CloseReason = (typeof closeReasons)[number];

/** What a peer tells its server. */
export type PeerEvents = {
  readonly messageBytesMax: number;
  /** @returns false if reading must stop now */
  readonly onMessage: (peer: Peer, parts: readonly Buffer[]) => boolean;
  readonly mayBeLarge: (peer: Peer, head: Buffer, partBytes: number) => boolean;
  /** Called with bytes from the socket. @returns false to read no more until `resume` */
  readonly onChunk: (peer: Peer, chunk: Buffer) => boolean;
  readonly onClosed: (peer: Peer) => void;
  readonly onDrained: (peer: Peer) => void;
};

const noBytes = Buffer.alloc(0);
/** All connections of the process are read into this: what is read is looked at before the next one is read. */
const readBuffer = Buffer.allocUnsafeSlow(readChunkBytes);

/** Handles have no documented way to another Socket; where it is gone, the socket is read with a buffer a chunk, which costs more. */
type WithHandle = { _handle: object | null };

function readIntoSharedBuffer(accepted: Socket, onBytes: (chunk: Buffer) => boolean): Socket {
  const holder = accepted as unknown as WithHandle;
  const handle = holder._handle;
  if (handle === null || typeof handle !== "object") {
    accepted.on("data", (chunk: Buffer) => {
      if (!onBytes(chunk)) accepted.pause();
    });
    accepted.resume();
    return accepted;
  }
  holder._handle = null;
  accepted.destroy();
  const callback = (bytes: number) => onBytes(readBuffer.subarray(0, bytes));
  return new Socket({ handle, onread: { buffer: readBuffer, callback } } as ConstructorParameters<typeof Socket>[0]);
}

export class Peer {
  readonly number: number;
  readonly address: string;
  /** A request over this connection was proven to come from an accepted minion or an operator. */
  isProven = false;
  isClosed = false;
  /** Requests that are neither answered nor forgotten. */
  unanswered = 0;
  /** As the server last counted it. */
  countedHeldBytes = 0;
  countedUnreadBytes = 0;
  /** When greeting or message began that is not whole, by the server's clock; undefined if none is. */
  unfinishedSinceMs: number | undefined;
  readonly #events: PeerEvents;
  readonly #socket: Socket;
  #greeting: Greeting | undefined = new Greeting();
  #greetingBytes: Buffer = noBytes;
  #reader: MessageReader | undefined;
  #framing: Framing = "new";
  #awaitsFirst: "ready" | "name" | undefined;
  #messages = 0;
  /** Bytes that came behind the point where reading had to stop. */
  #rest: Buffer = noBytes;
  #ping: Buffer | undefined;

  constructor(accepted: Socket, number: number, events: PeerEvents) {
    this.number = number;
    this.#events = events;
    this.address = accepted.remoteAddress ?? "";
    this.#socket = readIntoSharedBuffer(accepted, (chunk) => events.onChunk(this, chunk));
    this.#socket.on("error", () => this.close());
    this.#socket.on("close", () => this.close());
    this.#socket.on("end", () => this.close());
    this.#socket.on("drain", () => events.onDrained(this));
    this.#socket.write(signature);
  }

  get hasGreeted(): boolean {
    return this.#reader !== undefined && this.#awaitsFirst === undefined;
  }

  /** Messages so far. */
  get messages(): number {
    return this.#messages;
  }

  get isUnfinished(): boolean {
    return !this.hasGreeted || (this.#reader?.isUnfinished ?? false);
  }

  get heldBytes(): number {
    return (this.#reader?.heldBytes ?? 0) + this.#rest.length;
  }

  /** Bytes of replies that the client has not taken yet. */
  get unreadBytes(): number {
    return this.#socket.writableLength;
  }

  /** Takes bytes. @returns why the connection must be closed, if it must; "stop" if reading must stop for now */
  take(chunk: Buffer): CloseReason | "stop" | undefined {
    let bytes = chunk;
    if (this.#greeting !== undefined) {
      const rest = this.#greet(this.#greeting, chunk);
      if (rest === "malformed") return "malformed";
      if (rest.length === 0) return undefined;
      bytes = rest;
    }
    if (this.#reader === undefined) return undefined;
    const result = this.#reader.push(bytes);
    if ("fault" in result) return result.fault;
    this.#answerPing();
    if (result.used === bytes.length) return undefined;
    this.#rest = Buffer.from(bytes.subarray(result.used));
    return "stop";
  }

  /** Puts bytes aside that came while reading is stopped. */
  keep(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
  }

  /** What was put aside; it is the caller's now. */
  takeRest(): Buffer {
    const rest = this.#rest;
    this.#rest = noBytes;
    return rest;
  }

  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    if (!this.isClosed) this.#socket.resume();
  }

  /** @returns false if the connection is gone. `payload` must not be written over while `unreadBytes` is not 0. */
  reply(payload: Uint8Array): boolean {
    if (this.isClosed) return false;
    if (this.unanswered > 0) this.unanswered -= 1;
    if (payload.length <= smallReplyBytes) {
      this.#socket.write(replyFrame(payload, this.#framing));
      return true;
    }
    this.#socket.cork();
    this.#socket.write(replyHeads(payload.length, this.#framing));
    this.#socket.write(payload);
    this.#socket.uncork();
    return true;
  }

  /** A request of this connection gets no reply: its client has given up, or there was no room. */
  forget(): void {
    if (this.unanswered > 0) this.unanswered -= 1;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#socket.destroy();
    this.#rest = noBytes;
    this.#reader = undefined;
    this.#events.onClosed(this);
  }

  /** Closes when the client has taken what was written. */
  end(): void {
    if (!this.isClosed) this.#socket.end();
  }

  #greet(greeting: Greeting, chunk: Buffer): Buffer | "malformed" {
    const received = this.#greetingBytes.length === 0 ? chunk : Buffer.concat([this.#greetingBytes, chunk]);
    const step = greeting.read(received);
    if (step.kind === "malformed") return "malformed";
    if (step.send.length > 0) this.#socket.write(step.send);
    if (step.kind === "wait") {
      this.#greetingBytes = Buffer.from(received);
      return noBytes;
    }
    this.#greeting = undefined;
    this.#greetingBytes = noBytes;
    this.#framing = step.handshake.framing;
    this.#awaitsFirst = step.handshake.firstFrame;
    this.#reader = new MessageReader({
      framing: this.#framing,
      partsMax: requestPartsMax,
      messageBytesMax: this.#events.messageBytesMax,
      commandBytesMax: zmtpCommandBytesMax,
      largeBytes: largeRequestBytes,
      onMessage: (parts) => this.#onMessage(parts),
      onCommand: (body) => this.#onCommand(body),
      mayBeLarge: (head, partBytes) => this.#events.mayBeLarge(this, head, partBytes),
    });
    return received.subarray(step.used);
  }

  #onMessage(parts: readonly Buffer[]): MessageVerdict {
    if (this.#awaitsFirst === "ready") return "malformed";
    if (this.#awaitsFirst === "name") {
      // A name is of no use: replies go to the connection that asked, however it is called.
      this.#awaitsFirst = undefined;
      return "go";
    }
    this.#messages += 1;
    return this.#events.onMessage(this, parts) ? "go" : "stop";
  }

  #onCommand(body: Buffer): boolean {
    if (this.#awaitsFirst === "name") return false;
    if (this.#awaitsFirst === "ready") {
      this.#awaitsFirst = undefined;
      return isReadyOfPartner(body);
    }
    const command = readCommand(body);
    if (command === undefined) return false;
    // Of several in one chunk the last is answered: a client only waits for any sign of life.
    if (command.name === "PING") this.#ping = Buffer.from(command.body.subarray(2, 18));
    return command.name !== "ERROR";
  }

  #answerPing(): void {
    if (this.#ping === undefined) return;
    this.#socket.write(commandFrame("PONG", this.#ping));
    this.#ping = undefined;
  }
}
