/**
 * A ROUTER over Node's own sockets, for one request and one reply at a time of each client. libzmq bounds a part of a message and nothing
 * else; here parts, messages, unfinished bytes, unanswered requests, unread replies and connections each have a bound, a counter and
 * one consequence: the connection that goes over it is closed. docs/decisions/0022-request-front.md.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { Keepalive } from "../keepalive.ts";
import { AcceptedKeepalive } from "./accepted-keepalive.ts";
import { addressKey } from "./address.ts";
import { type RouterBounds, routerBounds } from "./bounds.ts";
import { listenOn, portOf } from "./listening.ts";
import { type CloseReason, closeReasons, Peer, type PeerEvents } from "./peer.ts";
import { TurnBudget } from "./turn-budget.ts";

export type RouterServerOptions = {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly backlog: number;
  /** A socket that listens at host and port already, opened by another; it is closed with the server. */
  readonly descriptor?: number | undefined;
  readonly keepalive: Keepalive;
  /** All parts of one message. */
  readonly messageBytesMax: number;
  /** All connections; the oldest that proved nothing makes room for a new one. */
  readonly connectionsMax: number;
  /** Connections of one address that proved nothing; 0: no bound. */
  readonly addressConnectionsMax: number;
  /** Addresses behind which there are many clients. */
  readonly isProxy: (address: string) => boolean;
  readonly onMessage: (peer: Peer, parts: readonly Buffer[]) => void;
  /** Asked for a part over `largeRequestBytes` of a connection that proved nothing, with its first bytes. */
  readonly mayBeLarge: (head: Buffer, partBytes: number) => boolean;
  /** The listening socket failed for good. */
  readonly onFault: (error: Error) => void;
  /** Default: those of src/limits.ts. */
  readonly bounds?: Partial<RouterBounds>;
};

/** What a group of connections holds together. */
type Account = { heldBytes: number; unreadBytes: number; unanswered: number };

export class RouterServer {
  /** Connections that were closed, by reason. */
  readonly closed: Readonly<Record<CloseReason, number>>;
  readonly counters = { accepted: 0, pauses: 0 };
  readonly #closed: Record<CloseReason, number>;
  readonly #options: RouterServerOptions;
  readonly #keepalive: AcceptedKeepalive;
  readonly #bounds: RouterBounds;
  readonly #server: Server;
  readonly #events: PeerEvents;
  readonly #peers = new Set<Peer>();
  /** In the order of their coming. */
  readonly #strangers = new Set<Peer>();
  readonly #strangersOf = new Map<string, number>();
  /** In the order in which their greeting or message began. */
  readonly #unfinished = new Set<Peer>();
  /** Those with replies that wait for the client. */
  readonly #unread = new Set<Peer>();
  /** Those that stopped reading because the server is paused. */
  readonly #parked = new Set<Peer>();
  readonly #ofStrangers: Account = { heldBytes: 0, unreadBytes: 0, unanswered: 0 };
  readonly #ofAll: Account = { heldBytes: 0, unreadBytes: 0, unanswered: 0 };
  readonly #budget = new TurnBudget<Peer>((peer) => this.#goOn(peer));
  readonly #timer: NodeJS.Timeout;
  #lastNumber = 0;
  #isPaused = false;
  #isClosing = false;
  #pausedSinceMs = 0;
  #pausedMs = 0;

  private constructor(options: RouterServerOptions, keepalive: AcceptedKeepalive) {
    this.#options = options;
    this.#keepalive = keepalive;
    this.#bounds = { ...routerBounds, ...options.bounds };
    this.#closed = Object.fromEntries(closeReasons.map((reason) => [reason, 0])) as Record<CloseReason, number>;
    this.closed = this.#closed;
    this.#events = {
      messageBytesMax: options.messageBytesMax,
      onMessage: (peer, parts) => this.#onMessage(peer, parts),
      mayBeLarge: (peer, head, partBytes) => peer.isProven || options.mayBeLarge(head, partBytes),
      onChunk: (peer, chunk) => this.#onChunk(peer, chunk),
      onClosed: (peer) => this.#onClosed(peer),
      onDrained: (peer) => this.#countUnread(peer),
    };
    this.#server = createServer({ noDelay: true, pauseOnConnect: true });
    this.#server.on("connection", (socket) => this.#accept(socket));
    this.#timer = setInterval(() => this.#look(), this.#bounds.overdueLookMs).unref();
  }

  /** @throws Error with the `code` of the system call (EADDRINUSE, EADDRNOTAVAIL, EACCES) */
  static async listen(options: RouterServerOptions): Promise<RouterServer> {
    const server = new RouterServer(options, await AcceptedKeepalive.load(options.keepalive));
    const { host, port, backlog, descriptor } = options;
    try {
      const on = descriptor === undefined ? { host, port } : { descriptor };
      await listenOn(server.#server, on, backlog);
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
    return this.#peers.size;
  }

  get strangerCount(): number {
    return this.#strangers.size;
  }

  /** Bytes of unfinished requests. */
  get heldBytes(): number {
    return this.#ofAll.heldBytes;
  }

  get unreadBytes(): number {
    return this.#ofAll.unreadBytes;
  }

  get unansweredCount(): number {
    return this.#ofAll.unanswered;
  }

  /** A request over this connection was proven; from now on it is no stranger's. */
  prove(peer: Peer): void {
    if (peer.isProven || peer.isClosed) return;
    this.#leaveStrangers(peer);
    peer.isProven = true;
  }

  /** @returns false if the connection is gone */
  reply(peer: Peer, payload: Uint8Array): boolean {
    const before = peer.unanswered;
    if (!peer.reply(payload)) return false;
    this.#note(peer, "unanswered", peer.unanswered - before);
    if (peer.unreadBytes > 0 || peer.countedUnreadBytes > 0) this.#countUnread(peer);
    return true;
  }

  /** One request of it will have no reply. */
  forget(peer: Peer): void {
    if (peer.isClosed || peer.unanswered === 0) return;
    peer.forget();
    this.#note(peer, "unanswered", -1);
  }

  /** Each connection is read once more at most, and what came then is kept. */
  pause(): void {
    if (this.#isPaused) return;
    this.counters.pauses += 1;
    this.#isPaused = true;
    this.#pausedSinceMs = performance.now();
  }

  resume(): void {
    if (!this.#isPaused || this.#isClosing) return;
    this.#isPaused = false;
    this.#pausedMs += performance.now() - this.#pausedSinceMs;
    for (const peer of this.#parked) {
      // What a connection kept may fill the queues again; the others then wait on.
      if (this.#isPaused) return;
      this.#parked.delete(peer);
      this.#goOn(peer);
    }
  }

  /** Takes no more connections and requests; replies may still be sent. */
  stop(): void {
    this.#isClosing = true;
    this.pause();
    this.#server.close();
  }

  /** Gives clients `lingerMs` to take what was written, then closes all. */
  async close(lingerMs: number): Promise<void> {
    this.stop();
    clearInterval(this.#timer);
    for (const peer of this.#peers) peer.end();
    const deadline = performance.now() + lingerMs;
    while ([...this.#peers].some((peer) => peer.unreadBytes > 0) && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const peer of this.#peers) peer.close();
  }

  #accept(socket: Socket): void {
    this.counters.accepted += 1;
    if (socket.remoteAddress === undefined || this.#isClosing) {
      socket.destroy();
      return;
    }
    const key = addressKey(socket.remoteAddress);
    const ofAddress = this.#strangersOf.get(key) ?? 0;
    const { addressConnectionsMax, isProxy, connectionsMax } = this.#options;
    const isOver = addressConnectionsMax > 0 && ofAddress >= addressConnectionsMax && !isProxy(socket.remoteAddress);
    if (isOver || (this.#peers.size >= connectionsMax && !this.#makeRoom())) {
      this.#closed[isOver ? "address" : "connections"] += 1;
      socket.destroy();
      return;
    }
    this.#keepalive.accepts(socket);
    this.#lastNumber += 1;
    const peer = new Peer(socket, this.#lastNumber, this.#events);
    this.#peers.add(peer);
    this.#strangers.add(peer);
    this.#strangersOf.set(key, ofAddress + 1);
    peer.unfinishedSinceMs = this.#clockMs();
    this.#unfinished.add(peer);
  }

  #makeRoom(): boolean {
    const [oldest] = this.#strangers;
    if (oldest !== undefined) this.#close(oldest, "connections");
    return oldest !== undefined;
  }

  /** Stands still while the server is paused: a client cannot finish what is not read. */
  #clockMs(): number {
    return (this.#isPaused ? this.#pausedSinceMs : performance.now()) - this.#pausedMs;
  }

  #onChunk(peer: Peer, chunk: Buffer): boolean {
    if (peer.isClosed) return false;
    if (!this.#isPaused) return this.#take(peer, chunk);
    peer.keep(chunk);
    this.#parked.add(peer);
    this.#countHeld(peer);
    return false;
  }

  /** @returns whether reading goes on */
  #take(peer: Peer, chunk: Buffer): boolean {
    const messagesBefore = peer.messages;
    const outcome = chunk.length === 0 ? undefined : peer.take(chunk);
    if (peer.isClosed) return false;
    if (outcome !== undefined && outcome !== "stop") {
      this.#close(peer, outcome);
      return false;
    }
    this.#countUnfinished(peer, peer.messages > messagesBefore);
    this.#countHeld(peer);
    if (peer.isClosed) return false;
    const hasRoom = this.#budget.spend(peer, 0, chunk.length);
    if (outcome !== "stop" && hasRoom) return true;
    if (this.#isPaused) this.#parked.add(peer);
    else this.#budget.wait(peer);
    return false;
  }

  /** Takes what a connection kept, and reads on unless that must wait again. */
  #goOn(peer: Peer): void {
    if (this.#isPaused) this.#parked.add(peer);
    else if (this.#take(peer, peer.takeRest())) peer.resumeReading();
  }

  #onMessage(peer: Peer, parts: readonly Buffer[]): boolean {
    peer.unanswered += 1;
    this.#note(peer, "unanswered", 1);
    const isOver =
      peer.unanswered > (peer.isProven ? this.#bounds.provenUnansweredMax : this.#bounds.strangerUnansweredMax) ||
      (!peer.isProven && this.#ofStrangers.unanswered > this.#bounds.strangersUnansweredMax);
    if (isOver) {
      this.#close(peer, "unanswered");
      return false;
    }
    this.#options.onMessage(peer, parts);
    return this.#budget.spend(peer, 1, 0) && !this.#isPaused && !peer.isClosed;
  }

  #countUnfinished(peer: Peer, hasFinishedOne: boolean): void {
    if (!peer.isUnfinished) {
      if (peer.unfinishedSinceMs !== undefined) this.#unfinished.delete(peer);
      peer.unfinishedSinceMs = undefined;
    } else if (peer.unfinishedSinceMs === undefined || hasFinishedOne) {
      this.#unfinished.delete(peer);
      this.#unfinished.add(peer);
      peer.unfinishedSinceMs = this.#clockMs();
    }
  }

  #countHeld(peer: Peer): void {
    const bytes = peer.heldBytes;
    if (bytes === peer.countedHeldBytes) return;
    this.#note(peer, "heldBytes", bytes - peer.countedHeldBytes);
    peer.countedHeldBytes = bytes;
    const { messageBytesMax } = this.#options;
    // One largest request must always fit.
    const isStrangersOver = this.#ofStrangers.heldBytes > Math.max(this.#bounds.strangersHeldBytesMax, messageBytesMax);
    if (isStrangersOver) this.#closeOldestHolder((holder) => !holder.isProven);
    if (this.#ofAll.heldBytes > Math.max(this.#bounds.heldRequestsBytesMax, 2 * messageBytesMax))
      this.#closeOldestHolder(() => true);
  }

  /** An honest client finishes what it began; the oldest is the one that does not. */
  #closeOldestHolder(isMeant: (peer: Peer) => boolean): void {
    for (const peer of this.#unfinished) {
      if (peer.countedHeldBytes === 0 || !isMeant(peer)) continue;
      this.#close(peer, "heldBytes");
      return;
    }
  }

  #countUnread(peer: Peer): void {
    if (peer.isClosed) return;
    const bytes = peer.unreadBytes;
    this.#note(peer, "unreadBytes", bytes - peer.countedUnreadBytes);
    peer.countedUnreadBytes = bytes;
    if (bytes === 0) {
      this.#unread.delete(peer);
      return;
    }
    this.#unread.add(peer);
    const isOver = bytes > (peer.isProven ? this.#bounds.provenUnreadBytesMax : this.#bounds.strangerUnreadBytesMax);
    if (isOver || (!peer.isProven && this.#ofStrangers.unreadBytes > this.#bounds.strangersUnreadBytesMax)) {
      this.#close(peer, "unreadReplies");
    } else if (this.#ofAll.unreadBytes > this.#bounds.allUnreadRepliesBytesMax) {
      let fullest = peer;
      for (const other of this.#unread) if (other.countedUnreadBytes > fullest.countedUnreadBytes) fullest = other;
      this.#close(fullest, "unreadReplies");
    }
  }

  #note(peer: Peer, what: keyof Account, change: number): void {
    this.#ofAll[what] += change;
    if (!peer.isProven) this.#ofStrangers[what] += change;
  }

  #leaveStrangers(peer: Peer): void {
    this.#ofStrangers.heldBytes -= peer.countedHeldBytes;
    this.#ofStrangers.unreadBytes -= peer.countedUnreadBytes;
    this.#ofStrangers.unanswered -= peer.unanswered;
    this.#strangers.delete(peer);
    const key = addressKey(peer.address);
    const left = (this.#strangersOf.get(key) ?? 0) - 1;
    if (left > 0) this.#strangersOf.set(key, left);
    else this.#strangersOf.delete(key);
  }

  #close(peer: Peer, reason: CloseReason): void {
    if (peer.isClosed) return;
    this.#closed[reason] += 1;
    peer.close();
  }

  #onClosed(peer: Peer): void {
    if (!this.#peers.delete(peer)) return;
    if (!peer.isProven) this.#leaveStrangers(peer);
    this.#ofAll.heldBytes -= peer.countedHeldBytes;
    this.#ofAll.unreadBytes -= peer.countedUnreadBytes;
    this.#ofAll.unanswered -= peer.unanswered;
    this.#unfinished.delete(peer);
    this.#unread.delete(peer);
    this.#parked.delete(peer);
    this.#budget.forget(peer);
  }

  /** Closes what is overdue, and counts again what clients have read meanwhile. */
  #look(): void {
    for (const peer of this.#unread) this.#countUnread(peer);
    if (this.#isPaused) return;
    const nowMs = this.#clockMs();
    for (const peer of this.#unfinished) {
      const ageMs = nowMs - (peer.unfinishedSinceMs ?? nowMs);
      if (ageMs < Math.min(this.#bounds.greetingTimeoutMs, this.#bounds.messageTimeoutMs)) return;
      if (!peer.hasGreeted) this.#close(peer, "greetingTimeout");
      else if (ageMs >= this.#bounds.messageTimeoutMs) this.#close(peer, "messageTimeout");
    }
  }
}
