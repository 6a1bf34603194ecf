/**
 * A ROUTER over the sockets of Node.js. libzmq bounds only the size of a message's part. Here parts, messages, unfinished bytes, unanswered requests,
 * unread replies and connections each have a bound and a counter, and a connection that exceeds one is closed. docs/decisions/0022-request-front.md.
 */
import { createServer, type Server, type Socket } from "node:net";
import { AcceptedKeepalive } from "./accepted-keepalive.ts";
import { BodyBuffers } from "./bodies/body-buffers.ts";
import { type RouterBounds, routerBounds } from "./bounds.ts";
import { listenOn, portOf } from "./listening.ts";
import { type CloseReason, closeReasons, Peer, type PeerEvents } from "./peer.ts";
import { type GroupSum, PeerGroup, type PeerGroupName, peerGroupNames } from "./peer-group.ts";
import type { RouterServerOptions } from "./router-options.ts";
import { Strangers } from "./strangers.ts";
import { TurnBudget } from "./turn-budget.ts";

export class RouterServer {
  /** Connections that were closed, by reason. */
  readonly closed: Readonly<Record<CloseReason, number>>;
  readonly counters = { accepted: 0 };
  readonly #closed: Record<CloseReason, number>;
  readonly #options: RouterServerOptions;
  readonly #keepalive: AcceptedKeepalive;
  readonly #bounds: RouterBounds;
  readonly #server: Server;
  readonly #events: PeerEvents;
  readonly #bodies = new BodyBuffers();
  readonly #peers = new Set<Peer>();
  readonly #strangers: Strangers;
  /** Connections whose clients have not read all replies. */
  readonly #unread = new Set<Peer>();
  readonly #groups: Readonly<Record<PeerGroupName, PeerGroup>>;
  readonly #budget = new TurnBudget<Peer>((peer) => this.#goOn(peer));
  readonly #timer: NodeJS.Timeout;
  #lastNumber = 0;
  #isClosing = false;

  private constructor(options: RouterServerOptions, keepalive: AcceptedKeepalive) {
    this.#options = options;
    this.#keepalive = keepalive;
    this.#bounds = { ...routerBounds, ...options.bounds };
    const { strangersLargeBytesMax, provenLargeBytesMax } = this.#bounds;
    this.#groups = { strangers: new PeerGroup(strangersLargeBytesMax), proven: new PeerGroup(provenLargeBytesMax) };
    this.#closed = Object.fromEntries(closeReasons.map((reason) => [reason, 0])) as Record<CloseReason, number>;
    this.closed = this.#closed;
    this.#strangers = new Strangers(options);
    this.#events = {
      bodies: this.#bodies,
      memory: options.memory,
      messageBytesMax: options.messageBytesMax,
      onMessage: (peer, parts) => this.#onMessage(peer, parts),
      onCommand: (peer) => this.#onCommand(peer),
      mayBeLarge: (peer, head, partBytes) =>
        peer.isProven || (!this.#strangers.owes(peer) && options.mayBeLarge(head, partBytes)),
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
    return this.#strangers.count;
  }

  /** Sums of each group, and how often reading it was paused. */
  get groups(): Readonly<
    Record<PeerGroupName, Readonly<Pick<PeerGroup, GroupSum | "pauses" | "isPaused" | "holdersClosed" | "turns">>>
  > {
    return this.#groups;
  }

  /** Bytes of requests that are unfinished, or kept while reading is paused. */
  get heldBytes(): number {
    return this.#sum("heldBytes");
  }

  /** Memory that is kept for bodies to come. */
  get spareBytes(): number {
    return this.#bodies.spareBytes;
  }

  get unreadBytes(): number {
    return this.#sum("unreadBytes");
  }

  get unansweredCount(): number {
    return this.#sum("unanswered");
  }

  /** Bytes of messages that strangers began and did not finish, charged to their addresses. */
  get unfinishedChargedBytes(): number {
    return this.#strangers.chargedBytes;
  }

  /** Whether a connection of the address has proved itself within `provenAddressMs`. */
  hasProven(address: string): boolean {
    return this.#strangers.hasProven(address);
  }

  /** A request over this connection was proven: the connection joins the proven group. */
  prove(peer: Peer): void {
    if (peer.isProven || peer.isClosed) return;
    this.#strangers.leave(peer);
    const { parked, turns } = this.#groups.strangers;
    const wasParked = parked.has(peer) || turns.isWaiting(peer);
    this.#groups.proven.join(peer, this.#groups.strangers);
    peer.isProven = true;
    if (wasParked) this.#budget.wait(peer);
    this.#strangers.noteProven(peer);
  }

  /** @returns false if the connection is gone */
  reply(peer: Peer, payload: Uint8Array): boolean {
    const before = peer.unanswered;
    if (!peer.reply(payload)) return false;
    this.#note(peer, "unanswered", peer.unanswered - before);
    if (peer.unreadBytes > 0 || peer.countedUnreadBytes > 0) this.#countUnread(peer);
    return true;
  }

  /** One request of the connection will get no reply. */
  forget(peer: Peer): void {
    if (peer.isClosed || peer.unanswered === 0) return;
    peer.forget();
    this.#note(peer, "unanswered", -1);
  }

  /** Pauses reading the group. Each connection is read at most once more, and those bytes are kept. */
  pause(name: PeerGroupName): void {
    this.#groups[name].pause();
  }

  resume(name: PeerGroupName): void {
    const group = this.#groups[name];
    if (!group.isPaused || this.#isClosing) return;
    group.resume();
    for (const peer of group.parked) {
      // The kept bytes of one connection may fill the queues again; the other connections then wait.
      if (group.isPaused) return;
      group.parked.delete(peer);
      this.#goOn(peer);
    }
  }

  /** Refuses new connections and requests; replies may still be sent. */
  stop(): void {
    this.#isClosing = true;
    for (const name of peerGroupNames) this.pause(name);
    this.#server.close();
  }

  /** Waits up to `lingerMs` for clients to read their replies, then closes all. */
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
    const refusal = this.#strangers.refusalOf(socket.remoteAddress) ?? (this.#hasRoom() ? undefined : "connections");
    if (refusal !== undefined) {
      this.#closed[refusal] += 1;
      socket.destroy();
      return;
    }
    this.#keepalive.accepts(socket);
    this.#lastNumber += 1;
    const peer = new Peer(socket, this.#lastNumber, this.#events);
    this.#peers.add(peer);
    this.#strangers.join(peer);
    peer.unfinishedSinceMs = this.#groups.strangers.clockMs;
    this.#groups.strangers.unfinished.add(peer);
  }

  /** At the bound closes the oldest stranger for the new connection. */
  #hasRoom(): boolean {
    if (this.#peers.size < this.#options.connectionsMax) return true;
    const { oldest } = this.#strangers;
    if (oldest !== undefined) this.#close(oldest, "connections");
    return oldest !== undefined;
  }

  #groupOf(peer: Peer): PeerGroup {
    return peer.isProven ? this.#groups.proven : this.#groups.strangers;
  }

  #sum(what: GroupSum): number {
    return this.#groups.strangers[what] + this.#groups.proven[what];
  }

  #onChunk(peer: Peer, chunk: Buffer): boolean {
    if (peer.isClosed) return false;
    const group = this.#groupOf(peer);
    if (!group.isPaused) return this.#take(peer, chunk);
    peer.keep(chunk);
    group.parked.add(peer);
    this.#countHeld(peer);
    return false;
  }

  /** @returns whether reading goes on */
  #take(peer: Peer, chunk: Buffer): boolean {
    const messagesBefore = peer.messages;
    const outcome = chunk.length === 0 ? undefined : peer.take(chunk);
    if (peer.isClosed) return false;
    if (outcome !== undefined && outcome !== "stop") {
      this.#close(peer, outcome === "refusedLarge" && this.#strangers.owes(peer) ? "owesUnfinished" : outcome);
      return false;
    }
    const hasFinishedOne = peer.messages > messagesBefore;
    this.#countUnfinished(peer, hasFinishedOne);
    this.#countHeld(peer);
    if (peer.isClosed) return false;
    const hasRoom = this.#budget.spend(peer, 0, chunk.length);
    const group = this.#groupOf(peer);
    const mayGoOn = group.mayGoOn(peer, hasFinishedOne);
    this.#giveTurns(group);
    if (!mayGoOn) return false;
    if (outcome !== "stop" && hasRoom) return true;
    if (group.isPaused) group.parked.add(peer);
    else this.#budget.wait(peer);
    return false;
  }

  /** Processes the bytes that a connection kept, then reads on unless it must pause again. */
  #goOn(peer: Peer): void {
    const group = this.#groupOf(peer);
    if (group.isPaused) group.parked.add(peer);
    else if (this.#take(peer, peer.takeRest())) peer.resumeReading();
  }

  /** Connections whose large requests have a turn now are read on. */
  #giveTurns({ turns, clockMs }: PeerGroup): void {
    for (let next = turns.next(clockMs); next !== undefined; next = turns.next(clockMs)) this.#budget.wait(next);
  }

  #onMessage(peer: Peer, parts: readonly Buffer[]): boolean {
    peer.unanswered += 1;
    this.#note(peer, "unanswered", 1);
    const isOver =
      peer.unanswered > (peer.isProven ? this.#bounds.provenUnansweredMax : this.#bounds.strangerUnansweredMax) ||
      (!peer.isProven && this.#groups.strangers.unanswered > this.#bounds.strangersUnansweredMax);
    if (isOver) {
      this.#close(peer, "unanswered");
      return false;
    }
    this.#options.onMessage(peer, parts);
    return this.#budget.spend(peer, 1, 0) && !this.#groupOf(peer).isPaused && !peer.isClosed;
  }

  #onCommand(peer: Peer): boolean {
    const nowMs = performance.now();
    const { commandsAtOnceMax, commandsPerSecondMax, commandsPerMinuteMax } = this.#bounds;
    peer.commands += 1;
    const commandsMax = commandsAtOnceMax + ((nowMs - peer.connectedMs) / 1_000) * commandsPerSecondMax;
    if (peer.commands <= commandsMax && peer.commandsOfMinute.add(nowMs) <= commandsPerMinuteMax)
      return this.#budget.spend(peer, 1, 0);
    this.#close(peer, "commands");
    return false;
  }

  #countUnfinished(peer: Peer, hasFinishedOne: boolean): void {
    const group = this.#groupOf(peer);
    if (!peer.isUnfinished) {
      if (peer.unfinishedSinceMs !== undefined) group.unfinished.delete(peer);
      peer.unfinishedSinceMs = undefined;
    } else if (peer.unfinishedSinceMs === undefined || hasFinishedOne) {
      group.unfinished.delete(peer);
      group.unfinished.add(peer);
      peer.unfinishedSinceMs = group.clockMs;
    }
  }

  #countHeld(peer: Peer): void {
    const bytes = peer.heldBytes;
    if (bytes === peer.countedHeldBytes) return;
    this.#note(peer, "heldBytes", bytes - peer.countedHeldBytes);
    peer.countedHeldBytes = bytes;
    const { strangersHeldBytesMax, provenHeldBytesMax } = this.#bounds;
    const { messageBytesMax } = this.#options;
    // A request of the largest size must always fit.
    const bytesMax = peer.isProven
      ? Math.max(provenHeldBytesMax, 2 * messageBytesMax)
      : Math.max(strangersHeldBytesMax, messageBytesMax);
    const group = this.#groupOf(peer);
    while (group.heldBytes > bytesMax) {
      const oldest = group.oldestHolder;
      if (oldest === undefined) return;
      group.holdersClosed += 1;
      this.#close(oldest, "heldBytes");
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
    if (isOver || (!peer.isProven && this.#groups.strangers.unreadBytes > this.#bounds.strangersUnreadBytesMax)) {
      this.#close(peer, "unreadReplies");
    } else if (this.#sum("unreadBytes") > this.#bounds.allUnreadRepliesBytesMax) {
      let fullest = peer;
      for (const other of this.#unread) if (other.countedUnreadBytes > fullest.countedUnreadBytes) fullest = other;
      this.#close(fullest, "unreadReplies");
    }
  }

  #note(peer: Peer, what: GroupSum, change: number): void {
    this.#groupOf(peer)[what] += change;
  }

  #close(peer: Peer, reason: CloseReason): void {
    if (peer.isClosed) return;
    this.#closed[reason] += 1;
    peer.closedFor = reason;
    peer.close();
  }

  #onClosed(peer: Peer): void {
    if (!this.#peers.delete(peer)) return;
    if (peer.isProven) this.#strangers.noteProvenGone(peer);
    else {
      this.#strangers.leave(peer);
      // Not while its group is paused, when its client could not finish the message.
      if (!this.#groups.strangers.isPaused) this.#strangers.charge(peer);
    }
    const group = this.#groupOf(peer);
    group.leave(peer);
    this.#unread.delete(peer);
    this.#budget.forget(peer);
    this.#giveTurns(group);
  }

  /** Closes overdue connections, and recounts unread replies. */
  #look(): void {
    for (const peer of this.#unread) this.#countUnread(peer);
    for (const name of peerGroupNames) {
      const group = this.#groups[name];
      this.#closeOverdue(group);
      if (!group.isPaused && group.turns.expire(group.clockMs)) this.#giveTurns(group);
    }
  }

  #closeOverdue({ isPaused, clockMs, unfinished }: PeerGroup): void {
    if (isPaused) return;
    const { greetingTimeoutMs, messageTimeoutMs } = this.#bounds;
    for (const peer of unfinished) {
      const ageMs = clockMs - (peer.unfinishedSinceMs ?? clockMs);
      if (ageMs < Math.min(greetingTimeoutMs, messageTimeoutMs)) return;
      if (!peer.hasGreeted) this.#close(peer, "greetingTimeout");
      else if (ageMs >= messageTimeoutMs) this.#close(peer, "messageTimeout");
    }
  }
}
