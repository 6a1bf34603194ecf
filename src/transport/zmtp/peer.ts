/** One client's connection to a ROUTER of ours: reads requests, writes replies, counts both. `RouterServer` sets the bounds. */
import type { Socket } from "node:net";
import { firstReadBytes, largeRequestBytes, readChunkBytes, requestPartsMax, smallReplyBytes } from "../../limits.ts";
import type { BodyBuffers } from "./bodies/body-buffers.ts";
import type { SharedMemory } from "./bodies/shared-memory.ts";
import { Connection } from "./connection.ts";
import { replyFrame, replyHeads } from "./frames.ts";
import { routerRole } from "./handshake.ts";
import type { MessageVerdict } from "./message-reader.ts";
import { MinuteCount } from "./minute-count.ts";

/** Reasons for which the server closes a connection; each has a counter. The first four depend on the received bytes alone. */
export const closeReasons = [
  "malformed",
  "parts",
  "messageBytes",
  "refusedLarge",
  "greetingTimeout",
  "messageTimeout",
  "commands",
  "unanswered",
  "unreadReplies",
  "heldBytes",
  "owesUnfinished",
  "address",
  "connections",
] as const;
export type CloseReason = (typeof closeReasons)[number];

/** Callbacks from a peer to its server. */
export type PeerEvents = {
  readonly bodies: BodyBuffers;
  readonly memory: SharedMemory;
  readonly messageBytesMax: number;
  /** The last part is only valid during the call, see `kept`. @returns false if reading must stop now */
  readonly onMessage: (peer: Peer, parts: readonly Buffer[]) => boolean;
  /** A command that is neither greeting nor message. @returns false if reading must stop now */
  readonly onCommand: (peer: Peer) => boolean;
  readonly mayBeLarge: (peer: Peer, head: Buffer, partBytes: number) => boolean;
  /** Called with bytes from the socket. @returns false to read no more until `resume` */
  readonly onChunk: (peer: Peer, chunk: Buffer) => boolean;
  readonly onClosed: (peer: Peer) => void;
  readonly onDrained: (peer: Peer) => void;
};

const readBuffer = Buffer.allocUnsafeSlow(readChunkBytes);

export class Peer extends Connection {
  readonly number: number;
  /** A request over this connection was proven to come from an accepted minion or an operator. */
  isProven = false;
  /** Requests that are neither answered nor forgotten. */
  unanswered = 0;
  /** Commands received, counted by the server. */
  readonly commandsOfMinute = new MinuteCount();
  commands = 0;
  readonly connectedMs = performance.now();
  /** When the last reply was written, by `performance.now()`. */
  answeredMs = Number.NEGATIVE_INFINITY;
  /** Held and unread bytes at the server's last count. */
  countedHeldBytes = 0;
  countedUnreadBytes = 0;
  /** Why the server closed the connection. */
  closedFor: CloseReason | undefined;
  readonly #events: PeerEvents;

  constructor(accepted: Socket, number: number, events: PeerEvents) {
    super(accepted, {
      role: routerRole,
      readBuffer,
      firstReadBytes,
      bodies: events.bodies,
      memory: events.memory,
      partsMax: requestPartsMax,
      messageBytesMax: events.messageBytesMax,
      largeBytes: largeRequestBytes,
    });
    this.number = number;
    this.#events = events;
    this.socket.on("drain", () => events.onDrained(this));
  }

  protected override takeChunk(chunk: Buffer): boolean {
    return this.#events.onChunk(this, chunk);
  }

  protected override takeMessage(parts: readonly Buffer[]): MessageVerdict {
    return this.#events.onMessage(this, parts) ? "go" : "stop";
  }

  protected override takeCommand(): MessageVerdict {
    return this.#events.onCommand(this) ? "go" : "stop";
  }

  protected override mayBeLarge(head: Buffer, partBytes: number): boolean {
    return this.#events.mayBeLarge(this, head, partBytes);
  }

  protected override mayShare(): boolean {
    return this.isProven;
  }

  protected override noteClosed(): void {
    this.#events.onClosed(this);
  }

  /** @returns false if the connection is gone. `payload` must not be written over while `unreadBytes` is not 0. */
  reply(payload: Uint8Array): boolean {
    if (this.isClosed) return false;
    if (this.unanswered > 0) this.unanswered -= 1;
    this.answeredMs = performance.now();
    if (payload.length <= smallReplyBytes) {
      this.socket.write(replyFrame(payload, this.framing));
      return true;
    }
    this.socket.cork();
    this.socket.write(replyHeads(payload.length, this.framing));
    this.socket.write(payload);
    this.socket.uncork();
    return true;
  }

  /** A request of this connection gets no reply: its client has gone, or a bound refused it. */
  forget(): void {
    if (this.unanswered > 0) this.unanswered -= 1;
  }
}
