/**
 * A PUB over the sockets of Node.js. libzmq bounds only the bytes of a subscription. Here subscriptions, messages, greetings, unread publishes
 * and connections each have a bound, a counter and one consequence. docs/decisions/0022-request-front.md.
 */
import { createServer, type Server, type Socket } from "node:net";
import {
  greetingTimeoutMs,
  heldPublishesBytesMax,
  messageTimeoutMs,
  overdueLookMs,
  publishCopiesMax,
  subscriberMessagesPerMinuteMax,
  subscriberUnreadBytesMax,
  subscriptionsMax,
} from "../../../limits.ts";
import type { Keepalive } from "../../keepalive.ts";
import { AcceptedKeepalive } from "../accepted-keepalive.ts";
import { addressKey } from "../address.ts";
import { Crowding } from "../crowding.ts";
import { type ListenOn, listenOn, portOf } from "../listening.ts";
import { TurnBudget } from "../turn-budget.ts";
import { type Outgoing, Payload, type Shared } from "./outgoing.ts";
import { Subscriber, type SubscriberCloseReason, type SubscriberEvents, subscriberCloseReasons } from "./subscriber.ts";
import { Topics } from "./topics.ts";

const pubBounds = {
  greetingTimeoutMs,
  messageTimeoutMs,
  overdueLookMs,
  subscriptionsMax,
  subscriberMessagesPerMinuteMax,
  subscriberUnreadBytesMax,
  heldPublishesBytesMax,
};

export type PubServerOptions = {
  readonly on: ListenOn;
  readonly backlog: number;
  readonly keepalive: Keepalive;
  /** Messages that may wait for one subscriber; over it, further ones are dropped for it. 0: only the bytes are bounded. */
  readonly highWaterMark: number;
  /** All connections. Over it, one without a subscription is closed, or else the new one. */
  readonly connectionsMax: number;
  /** Connections of one address; 0: no bound. */
  readonly addressConnectionsMax: number;
  /** Addresses of proxies, behind which many clients connect. */
  readonly isProxy: (address: string) => boolean;
  /** The listening socket failed for good. */
  readonly onFault: (error: Error) => void;
  /** Default: those of src/limits.ts. */
  readonly bounds?: Partial<typeof pubBounds>;
};

export class PubServer {
  /** Connections that were closed, by reason. */
  readonly closed: Readonly<Record<SubscriberCloseReason, number>>;
  /** `sent` and `dropped` count a message once for each subscriber that it was meant for. */
  readonly counters = { accepted: 0, messages: 0, sent: 0, dropped: 0 };
  readonly #closed: Record<SubscriberCloseReason, number>;
  readonly #options: PubServerOptions;
  readonly #keepalive: AcceptedKeepalive;
  readonly #bounds: typeof pubBounds;
  readonly #server: Server;
  readonly #events: SubscriberEvents;
  readonly #subscribers = new Set<Subscriber>();
  readonly #topics = new Topics<Subscriber>();
  readonly #crowding = new Crowding<Subscriber>();
  /** Oldest first. */
  readonly #withoutTopic = new Set<Subscriber>();
  /** Connections with an unfinished greeting or message, oldest first. */
  readonly #unfinished = new Set<Subscriber>();
  readonly #behind = new Set<Subscriber>();
  /** Messages that some subscriber has not read, oldest first. */
  readonly #held = new Set<Shared>();
  #heldBytes = 0;
  #publishes = 0;
  readonly #budget = new TurnBudget<Subscriber>((subscriber) => this.#goOn(subscriber));
  readonly #timer: NodeJS.Timeout;
  #isClosing = false;

  private constructor(options: PubServerOptions, keepalive: AcceptedKeepalive) {
    this.#options = options;
    this.#keepalive = keepalive;
    this.#bounds = { ...pubBounds, ...options.bounds };
    this.#closed = Object.fromEntries(subscriberCloseReasons.map((reason) => [reason, 0])) as typeof this.closed;
    this.closed = this.#closed;
    this.#events = {
      highWaterMark: options.highWaterMark,
      unreadBytesMax: this.#bounds.subscriberUnreadBytesMax,
      onSubscribe: (subscriber, topic) => this.#subscribe(subscriber, topic),
      onUnsubscribe: (subscriber, topic) => this.#unsubscribe(subscriber, topic),
      onOther: (subscriber) => this.#spend(subscriber),
      onChunk: (subscriber, chunk) => this.#take(subscriber, chunk),
      onClosed: (subscriber) => this.#forget(subscriber),
      onBehind: (subscriber, isBehind) => void this.#behind[isBehind ? "add" : "delete"](subscriber),
      hold: ({ shared }) => this.#hold(shared),
      release: ({ shared }) => this.#release(shared),
    };
    this.#server = createServer({ noDelay: true, pauseOnConnect: true });
    this.#server.on("connection", (socket) => this.#accept(socket));
    this.#timer = setInterval(() => this.#look(), this.#bounds.overdueLookMs).unref();
  }

  /** @throws Error with the `code` of the system call (EADDRINUSE, EADDRNOTAVAIL, EACCES) */
  static async listen(options: PubServerOptions): Promise<PubServer> {
    const server = new PubServer(options, await AcceptedKeepalive.load(options.keepalive));
    try {
      await listenOn(server.#server, options.on, options.backlog);
      server.#keepalive.listens(server.#server);
    } catch (error) {
      clearInterval(server.#timer);
      throw error;
    }
    server.#server.on("error", options.onFault);
    return server;
  }

  get port(): number {
    return portOf(this.#server);
  }

  get connectionCount(): number {
    return this.#subscribers.size;
  }

  /** Connections with a subscription. */
  get subscriberCount(): number {
    return this.#subscribers.size - this.#withoutTopic.size;
  }

  /** Topics that at least one connection subscribed to. */
  get topicCount(): number {
    return this.#topics.count;
  }

  /** Publishes that some subscriber has not read, each counted once. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Connections that are behind: publishes queue for them. */
  get behindCount(): number {
    return this.#behind.size;
  }

  /** Sends a message of one part to each matching subscriber. */
  publish(payload: Uint8Array): void {
    const message = new Payload(payload);
    this.#send(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength), (to) => message.alone(to.framing));
    this.#closeSlowest();
  }

  /** Sends one two-part message for each topic: the topic, then the payload. */
  publishTo(topics: Iterable<string>, payload: Uint8Array): void {
    const message = new Payload(payload);
    this.#publishes += 1;
    const publish = this.#publishes;
    for (const text of topics) {
      const topic = Buffer.from(text, "latin1");
      const framed = new Map<string, Outgoing>();
      this.#send(topic, (subscriber) => {
        if (!hasCopyLeft(subscriber, publish)) return undefined;
        const outgoing = framed.get(subscriber.framing) ?? message.behind(topic, subscriber.framing);
        framed.set(subscriber.framing, outgoing);
        return outgoing;
      });
    }
    this.#closeSlowest();
  }

  /** Refuses new connections, waits up to `lingerMs` for subscribers to read their publishes, then closes all. */
  async close(lingerMs: number): Promise<void> {
    this.#isClosing = true;
    this.#server.close();
    clearInterval(this.#timer);
    const deadline = performance.now() + lingerMs;
    while (this.#behind.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const subscriber of this.#subscribers) subscriber.close();
  }

  #send(first: Buffer, framed: (to: Subscriber) => Outgoing | undefined): void {
    this.counters.messages += 1;
    this.#topics.match(first, (subscriber) => {
      const outgoing = framed(subscriber);
      if (outgoing !== undefined && subscriber.send(outgoing)) this.counters.sent += 1;
      else this.counters.dropped += 1;
    });
  }

  #hold(shared: Shared): void {
    shared.holders += 1;
    if (shared.holders > 1) return;
    this.#held.add(shared);
    this.#heldBytes += shared.length;
  }

  #release(shared: Shared): void {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    this.#held.delete(shared);
    this.#heldBytes -= shared.length;
  }

  /** Closes the subscribers that have not read the oldest message. */
  #closeSlowest(): void {
    while (this.#heldBytes > this.#bounds.heldPublishesBytesMax) {
      const largest = [...this.#held].reduce((most, { length }) => Math.max(most, length), 0);
      if (this.#heldBytes <= 2 * largest) return;
      const [oldest] = this.#held;
      const slowest = [...this.#behind].filter((subscriber) => subscriber.oldest?.shared === oldest);
      if (slowest.length === 0) return;
      for (const subscriber of slowest) this.#close(subscriber, "unreadPublishes");
    }
  }

  #accept(socket: Socket): void {
    this.counters.accepted += 1;
    if (socket.remoteAddress === undefined || this.#isClosing) {
      socket.destroy();
      return;
    }
    const key = addressKey(socket.remoteAddress);
    const { addressConnectionsMax, isProxy, connectionsMax } = this.#options;
    const isProxied = isProxy(socket.remoteAddress);
    const ofAddress = this.#crowding.countOf(key);
    const isOver = addressConnectionsMax > 0 && ofAddress >= addressConnectionsMax && !isProxied;
    if (isOver || (this.#subscribers.size >= connectionsMax && !this.#makeRoom(ofAddress))) {
      this.#closed[isOver ? "address" : "connections"] += 1;
      socket.destroy();
      return;
    }
    this.#keepalive.accepts(socket);
    const subscriber = new Subscriber(socket, this.#events);
    this.#subscribers.add(subscriber);
    this.#withoutTopic.add(subscriber);
    if (!isProxied) this.#crowding.add(key, subscriber);
    subscriber.unfinishedSinceMs = performance.now();
    this.#unfinished.add(subscriber);
  }

  /** Closes the newest connection of an address that has more than the new one's address, else the oldest without a subscription. */
  #makeRoom(ofAddress: number): boolean {
    const [silent] = this.#withoutTopic;
    const yielding = this.#crowding.newestAbove(ofAddress + 1) ?? silent;
    if (yielding !== undefined) this.#close(yielding, "connections");
    return yielding !== undefined;
  }

  /** @returns whether reading goes on */
  #take(subscriber: Subscriber, chunk: Buffer): boolean {
    if (subscriber.isClosed) return false;
    const messagesBefore = subscriber.messages;
    const outcome = chunk.length === 0 ? undefined : subscriber.take(chunk);
    if (subscriber.isClosed) return false;
    if (outcome !== undefined && outcome !== "stop") {
      this.#close(subscriber, outcome === "refusedLarge" ? "messageBytes" : outcome);
      return false;
    }
    this.#countUnfinished(subscriber, subscriber.messages > messagesBefore);
    const hasRoom = this.#budget.spend(subscriber, 0, chunk.length);
    if (outcome !== "stop" && hasRoom) return true;
    this.#budget.wait(subscriber);
    return false;
  }

  /** Processes the bytes that a connection kept, then reads on unless it must pause again. */
  #goOn(subscriber: Subscriber): void {
    if (this.#take(subscriber, subscriber.takeRest())) subscriber.resumeReading();
  }

  #countUnfinished(subscriber: Subscriber, hasFinishedOne: boolean): void {
    if (!subscriber.isUnfinished) {
      if (subscriber.unfinishedSinceMs !== undefined) this.#unfinished.delete(subscriber);
      subscriber.unfinishedSinceMs = undefined;
    } else if (subscriber.unfinishedSinceMs === undefined || hasFinishedOne) {
      this.#unfinished.delete(subscriber);
      this.#unfinished.add(subscriber);
      subscriber.unfinishedSinceMs = performance.now();
    }
  }

  /** Counts one message. @returns false if reading the connection must stop now */
  #spend(subscriber: Subscriber): boolean {
    if (subscriber.ofMinute.add(performance.now()) > this.#bounds.subscriberMessagesPerMinuteMax) {
      this.#close(subscriber, "messages");
      return false;
    }
    return this.#budget.spend(subscriber, 1, 0);
  }

  #subscribe(subscriber: Subscriber, text: string): boolean {
    const { topics } = subscriber;
    if (!topics.some((topic) => topic.text === text)) {
      if (topics.length >= this.#bounds.subscriptionsMax) {
        this.#close(subscriber, "subscriptions");
        return false;
      }
      topics.push(this.#topics.add(subscriber, text));
      this.#withoutTopic.delete(subscriber);
    }
    return this.#spend(subscriber);
  }

  #unsubscribe(subscriber: Subscriber, text: string): boolean {
    const { topics } = subscriber;
    const at = topics.findIndex((topic) => topic.text === text);
    const [topic] = at < 0 ? [] : topics.splice(at, 1);
    if (topic !== undefined) this.#topics.remove(subscriber, topic);
    if (topics.length === 0) this.#withoutTopic.add(subscriber);
    return this.#spend(subscriber);
  }

  #close(subscriber: Subscriber, reason: SubscriberCloseReason): void {
    if (subscriber.isClosed) return;
    this.#closed[reason] += 1;
    subscriber.close();
  }

  #forget(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    for (const topic of subscriber.topics.splice(0)) this.#topics.remove(subscriber, topic);
    this.#withoutTopic.delete(subscriber);
    this.#unfinished.delete(subscriber);
    this.#behind.delete(subscriber);
    this.#budget.forget(subscriber);
    this.#crowding.remove(subscriber);
  }

  #look(): void {
    const nowMs = performance.now();
    for (const subscriber of this.#unfinished) {
      const ageMs = nowMs - (subscriber.unfinishedSinceMs ?? nowMs);
      if (ageMs < Math.min(this.#bounds.greetingTimeoutMs, this.#bounds.messageTimeoutMs)) return;
      if (!subscriber.hasGreeted) this.#close(subscriber, "greetingTimeout");
      else if (ageMs >= this.#bounds.messageTimeoutMs) this.#close(subscriber, "messageTimeout");
    }
  }
}

/** Bounds the copies of one publish: a minion has one topic, but a subscriber of all topics would get a copy for each minion. */
function hasCopyLeft(subscriber: Subscriber, publish: number): boolean {
  if (subscriber.lastPublish !== publish) subscriber.copiesOfPublish = 0;
  subscriber.lastPublish = publish;
  subscriber.copiesOfPublish += 1;
  return subscriber.copiesOfPublish <= publishCopiesMax;
}
