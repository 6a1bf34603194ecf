/**
 * One subscriber's connection to a PUB of ours: its subscriptions and its unread messages. A message is written at once while the
 * socket has room; otherwise it queues, and the queue is written in batches as the subscriber reads.
 */
import type { Socket } from "node:net";
import { catchUpBytes, subscriberReadBytes, subscriptionBytesMax } from "../../../limits.ts";
import { BodyBuffers } from "../bodies/body-buffers.ts";
import { Connection } from "../connection.ts";
import { publisherRole } from "../handshake.ts";
import type { MessageVerdict } from "../message-reader.ts";
import { MinuteCount } from "../minute-count.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Topic } from "./topics.ts";

/** Reasons for which the server closes a connection; each has a counter. The first three depend on the received bytes alone. */
export const subscriberCloseReasons = [
  "malformed",
  "parts",
  "messageBytes",
  "greetingTimeout",
  "messageTimeout",
  "subscriptions",
  "messages",
  "unreadPublishes",
  "address",
  "connections",
] as const;
export type SubscriberCloseReason = (typeof subscriberCloseReasons)[number];

/** Callbacks from a subscriber to its server. */
export type SubscriberEvents = {
  /** Messages that may wait for one subscriber. 0: only the bytes are bounded. */
  readonly highWaterMark: number;
  readonly unreadBytesMax: number;
  /** @returns false if reading must stop now */
  readonly onSubscribe: (subscriber: Subscriber, topic: string) => boolean;
  readonly onUnsubscribe: (subscriber: Subscriber, topic: string) => boolean;
  /** A message or command other than a subscription or its cancellation. */
  readonly onOther: (subscriber: Subscriber) => boolean;
  /** Called with bytes from the socket. @returns false to read no more until `resumeReading` */
  readonly onChunk: (subscriber: Subscriber, chunk: Buffer) => boolean;
  readonly onClosed: (subscriber: Subscriber) => void;
  /** The subscriber has fallen behind (`isBehind`), or has read everything. */
  readonly onBehind: (subscriber: Subscriber, isBehind: boolean) => void;
  readonly hold: (message: Outgoing) => void;
  readonly release: (message: Outgoing) => void;
};

const readBuffer = Buffer.allocUnsafeSlow(subscriberReadBytes);
const bodies = new BodyBuffers();
/** Subscription message: a byte for subscribe or cancel, then the topic. */
const messageBytesMax = 1 + subscriptionBytesMax;
const subscribeMark = 1;
const unsubscribeMark = 0;
const noBytes = Buffer.alloc(0);
const none: readonly Outgoing[] = [];

export class Subscriber extends Connection {
  /** Always false: subscribers do not authenticate. */
  readonly isProven = false;
  readonly topics: Topic<Subscriber>[] = [];
  addressKey = "";
  older: Subscriber | undefined;
  newer: Subscriber | undefined;
  lastMatch = 0;
  /** Number of the latest publish for this subscriber, and the copies of it, one for each matching topic. */
  lastPublish = 0;
  copiesOfPublish = 0;
  /** Messages and commands, counted by the server. */
  readonly ofMinute = new MinuteCount();
  readonly #events: SubscriberEvents;
  /** Messages written to the socket and not yet read by the client. */
  #underWay: readonly Outgoing[] = none;
  /** Messages for which the socket has no room, from `#firstWaiting` on. */
  #waiting: Outgoing[] = [];
  #firstWaiting = 0;
  #heldBytes = 0;
  #isBehind = false;

  constructor(accepted: Socket, events: SubscriberEvents) {
    super(accepted, {
      role: publisherRole,
      readBuffer,
      firstReadBytes: subscriberReadBytes,
      bodies,
      partsMax: 1,
      messageBytesMax,
      largeBytes: messageBytesMax,
    });
    this.#events = events;
  }

  /** Messages for which the socket has no room. */
  get waitingCount(): number {
    return this.#waiting.length - this.#firstWaiting;
  }

  /** The message that it has to read next, if it is behind. */
  get oldest(): Outgoing | undefined {
    return this.#underWay[0];
  }

  /** @returns false if the message is dropped because the subscriber's queue is full */
  send(message: Outgoing): boolean {
    if (this.isClosed || this.socket.destroyed) return false;
    if (!this.#isBehind) {
      this.#write(message);
      if (this.socket.writableLength > 0) this.#fallBehind(message);
      return true;
    }
    const { highWaterMark, unreadBytesMax } = this.#events;
    if (highWaterMark > 0 && this.waitingCount >= highWaterMark) return false;
    if (this.waitingCount > 0 && this.#heldBytes + message.length > unreadBytesMax) return false;
    this.#hold(message);
    this.#waiting.push(message);
    return true;
  }

  protected override takeChunk(chunk: Buffer): boolean {
    return this.#events.onChunk(this, chunk);
  }

  protected override takeMessage([part]: readonly Buffer[]): MessageVerdict {
    const mark = part?.[0];
    const topic = part?.toString("latin1", 1) ?? "";
    const { onSubscribe, onUnsubscribe, onOther } = this.#events;
    if (mark === subscribeMark) return onSubscribe(this, topic) ? "go" : "stop";
    if (mark === unsubscribeMark) return onUnsubscribe(this, topic) ? "go" : "stop";
    // A message that an XSUB sends upstream. A PUB does not read such messages.
    return onOther(this) ? "go" : "stop";
  }

  /** Takes subscriptions of ZMTP 3.1; in earlier releases they are messages. */
  protected override takeCommand(name: string, body: Buffer): MessageVerdict {
    const { onSubscribe, onUnsubscribe, onOther } = this.#events;
    if (body.length > subscriptionBytesMax) return "malformed";
    if (name === "SUBSCRIBE") return onSubscribe(this, body.toString("latin1")) ? "go" : "stop";
    if (name === "CANCEL") return onUnsubscribe(this, body.toString("latin1")) ? "go" : "stop";
    return onOther(this) ? "go" : "stop";
  }

  /** Subscribes a peer of ZMTP 1.0 to all topics: such a SUB sends no subscriptions and filters messages itself. */
  protected override noteGreeted(isUnversioned: boolean): void {
    if (isUnversioned) this.#events.onSubscribe(this, "");
  }

  protected override mayBeLarge(): boolean {
    return true;
  }

  protected override noteClosed(): void {
    for (const message of this.#underWay) this.#events.release(message);
    for (const message of this.#waiting.slice(this.#firstWaiting)) this.#events.release(message);
    this.#underWay = none;
    this.#waiting = [];
    this.#firstWaiting = 0;
    this.#events.onClosed(this);
  }

  #write({ head, body }: Outgoing): void {
    if (head === undefined) {
      this.socket.write(body);
      return;
    }
    this.socket.cork();
    this.socket.write(head);
    this.socket.write(body);
    this.socket.uncork();
  }

  #hold(message: Outgoing): void {
    this.#heldBytes += message.length;
    this.#events.hold(message);
  }

  #fallBehind(message: Outgoing): void {
    this.#isBehind = true;
    this.#hold(message);
    this.#underWay = [message];
    this.#events.onBehind(this, true);
    this.#waitUntilTaken();
  }

  /** Waits by an empty write, which completes after all writes before it. `drain` would come earlier, at the socket's high-water mark. */
  #waitUntilTaken(): void {
    this.socket.write(noBytes, () => this.#goOn());
  }

  #goOn(): void {
    if (this.isClosed || this.socket.destroyed) return;
    for (;;) {
      for (const message of this.#underWay) {
        this.#heldBytes -= message.length;
        this.#events.release(message);
      }
      this.#underWay = this.#nextBatch();
      if (this.#underWay.length === 0) {
        this.#isBehind = false;
        this.#events.onBehind(this, false);
        return;
      }
      this.socket.cork();
      for (const message of this.#underWay) this.#write(message);
      this.socket.uncork();
      if (this.socket.writableLength > 0) {
        this.#waitUntilTaken();
        return;
      }
    }
  }

  #nextBatch(): readonly Outgoing[] {
    let end = this.#firstWaiting;
    for (let bytes = 0; end < this.#waiting.length && bytes < catchUpBytes; end += 1)
      bytes += this.#waiting[end]?.length ?? 0;
    const batch = this.#waiting.slice(this.#firstWaiting, end);
    this.#firstWaiting = end;
    // The array is compacted when half of it is empty, so that each message moves once on average.
    if (end > this.#waiting.length / 2) {
      this.#waiting = this.#waiting.slice(end);
      this.#firstWaiting = 0;
    }
    return batch;
  }
}
