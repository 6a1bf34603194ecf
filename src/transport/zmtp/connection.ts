/**
 * One client's connection to a ROUTER or PUB of ours: reads greeting, heartbeats, messages and commands, and counts the bytes that it holds.
 * Subclasses and their server set the bounds and interpret messages.
 */
import type { Socket } from "node:net";
import { zmtpCommandBytesMax } from "../../limits.ts";
import { readInto } from "./accepted-socket.ts";
import type { BodyBuffers } from "./bodies/body-buffers.ts";
import type { SharedMemory } from "./bodies/shared-memory.ts";
import { commandFrame, type Framing, readCommand } from "./frames.ts";
import { Greeting, isReadyOfPartner, type SocketRole, signature } from "./handshake.ts";
import { type MessageFault, MessageReader, type MessageVerdict } from "./message-reader.ts";

const noBytes = Buffer.alloc(0);

export type ConnectionSetup = {
  readonly role: SocketRole;
  /** Shared by all connections of a server. */
  readonly readBuffer: Buffer;
  /** Largest read outside of a message's body, bytes. */
  readonly firstReadBytes: number;
  readonly bodies: BodyBuffers;
  /** Of large messages. Undefined: none. */
  readonly memory?: SharedMemory;
  readonly partsMax: number;
  readonly messageBytesMax: number;
  /** A part over this size needs the consent of `mayBeLarge`. */
  readonly largeBytes: number;
};

export abstract class Connection {
  readonly address: string;
  isClosed = false;
  /** Framing of messages in both directions, from the peer's release of ZMTP. */
  framing: Framing = "new";
  /** When the unfinished greeting or message began, by the server's clock; undefined if there is none. */
  unfinishedSinceMs: number | undefined;
  /** Memory that an unfinished message held when the connection closed. */
  leftBytes = 0;
  protected readonly socket: Socket;
  readonly #setup: ConnectionSetup;
  #greeting: Greeting | undefined;
  #greetingBytes: Buffer = noBytes;
  #reader: MessageReader | undefined;
  #awaitsFirst: "ready" | "name" | undefined;
  #isUnversioned = false;
  #messages = 0;
  /** Bytes received after reading had stopped. */
  #rest: Buffer = noBytes;
  #ping: Buffer | undefined;
  /** Whether the socket is read. */
  #isReading = true;

  constructor(accepted: Socket, setup: ConnectionSetup) {
    this.#setup = setup;
    this.#greeting = new Greeting(setup.role);
    this.address = accepted.remoteAddress ?? "";
    const first = setup.readBuffer.subarray(0, setup.firstReadBytes);
    const nextBuffer = () => {
      // While reading is paused the body may be completed or discarded, and the memory then belongs to another.
      const place = this.#isReading ? this.#reader?.place(setup.readBuffer.length) : undefined;
      return place ?? ((this.#reader?.wantedBytes ?? 0) > first.length ? setup.readBuffer : first);
    };
    this.socket = readInto(nextBuffer, accepted, (chunk) => {
      this.#isReading = this.takeChunk(chunk);
      return this.#isReading;
    });
    this.socket.on("error", () => this.close());
    this.socket.on("close", () => this.close());
    this.socket.on("end", () => this.close());
    this.socket.write(signature);
  }

  /** Bytes from the socket, only valid during the call. @returns false to read no more until `resumeReading` */
  protected abstract takeChunk(chunk: Buffer): boolean;
  /** The last part is only valid during the call, see `kept`. */
  protected abstract takeMessage(parts: readonly Buffer[]): MessageVerdict;
  /** A command that is neither greeting nor heartbeat; `body` is only valid during the call. */
  protected abstract takeCommand(name: string, body: Buffer): MessageVerdict;
  protected abstract mayBeLarge(head: Buffer, partBytes: number): boolean;
  protected abstract noteClosed(): void;
  /** Whether a large message may take shared memory of its announced size. */
  protected mayShare(): boolean {
    return false;
  }
  /** The greeting is complete. */
  protected noteGreeted(_isUnversioned: boolean): void {}

  get hasGreeted(): boolean {
    return this.#reader !== undefined && this.#awaitsFirst === undefined;
  }

  /** Messages received. */
  get messages(): number {
    return this.#messages;
  }

  get isUnfinished(): boolean {
    return !this.hasGreeted || (this.#reader?.isUnfinished ?? false);
  }

  get heldBytes(): number {
    return (this.#reader?.heldBytes ?? 0) + this.#rest.length;
  }

  /** Announced bytes of an unfinished part over `largeBytes`; 0 without one. */
  get largeBodyBytes(): number {
    return this.#reader?.largeBodyBytes ?? 0;
  }

  /** Bytes that the peer has not read yet. */
  get unreadBytes(): number {
    return this.socket.writableLength;
  }

  /** Processes received bytes. @returns "stop" if reading must pause, or the fault for which the connection must be closed */
  take(chunk: Buffer): MessageFault | "stop" | undefined {
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
    if (this.isClosed) return undefined;
    this.#answerPing();
    if (result.used === bytes.length) return undefined;
    this.#rest = Buffer.from(bytes.subarray(result.used));
    return "stop";
  }

  /** Keeps bytes received while reading is paused. */
  keep(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
  }

  /** Returns the kept bytes, and forgets them. */
  takeRest(): Buffer {
    const rest = this.#rest;
    this.#rest = noBytes;
    return rest;
  }

  resumeReading(): void {
    this.#isReading = true;
    if (!this.isClosed) this.socket.resume();
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.leftBytes = this.#reader?.heldBytes ?? 0;
    this.socket.destroy();
    this.#rest = noBytes;
    this.#reader?.close();
    this.#reader = undefined;
    this.noteClosed();
  }

  /** Closes once the client has read all that was written. */
  end(): void {
    if (!this.isClosed) this.socket.end();
  }

  #greet(greeting: Greeting, chunk: Buffer): Buffer | "malformed" {
    const received = this.#greetingBytes.length === 0 ? chunk : Buffer.concat([this.#greetingBytes, chunk]);
    const step = greeting.read(received);
    if (step.kind === "malformed") return "malformed";
    if (step.send.length > 0) this.socket.write(step.send);
    if (step.kind === "wait") {
      this.#greetingBytes = Buffer.from(received);
      return noBytes;
    }
    this.#greeting = undefined;
    this.#greetingBytes = noBytes;
    this.framing = step.handshake.framing;
    this.#awaitsFirst = step.handshake.firstFrame;
    this.#isUnversioned = step.handshake.isUnversioned;
    const { bodies, memory, partsMax, messageBytesMax, largeBytes } = this.#setup;
    this.#reader = new MessageReader({
      framing: this.framing,
      partsMax,
      messageBytesMax,
      commandBytesMax: zmtpCommandBytesMax,
      bodies,
      memory,
      mayShare: () => this.mayShare(),
      largeBytes,
      onMessage: (parts) => this.#onMessage(parts),
      onCommand: (body) => this.#onCommand(body),
      mayBeLarge: (head, partBytes) => this.mayBeLarge(head, partBytes),
    });
    return received.subarray(step.used);
  }

  #onMessage(parts: readonly Buffer[]): MessageVerdict {
    if (this.#awaitsFirst === "ready") return "malformed";
    if (this.#awaitsFirst === "name") {
      // The peer's identity is ignored, because replies go to the connection that asked.
      this.#awaitsFirst = undefined;
      this.noteGreeted(this.#isUnversioned);
      return "go";
    }
    this.#messages += 1;
    return this.takeMessage(parts);
  }

  #onCommand(body: Buffer): MessageVerdict {
    if (this.#awaitsFirst === "name") return "malformed";
    if (this.#awaitsFirst === "ready") {
      if (!isReadyOfPartner(body, this.#setup.role)) return "malformed";
      this.#awaitsFirst = undefined;
      this.noteGreeted(false);
      return "go";
    }
    const command = readCommand(body);
    if (command === undefined || command.name === "ERROR") return "malformed";
    // Of several PINGs in one chunk only the last is answered: any PONG tells the client that we live.
    if (command.name === "PING") this.#ping = Buffer.from(command.body.subarray(2, 18));
    return this.takeCommand(command.name, command.body);
  }

  /** Sends PONG unless written bytes are still unread: those also show that we live, and PONGs to a client that never reads would pile up. */
  #answerPing(): void {
    if (this.#ping === undefined) return;
    if (this.socket.writableLength === 0) this.socket.write(commandFrame("PONG", this.#ping));
    this.#ping = undefined;
  }
}
