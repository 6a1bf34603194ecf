/**
 * Server of the event bus of a master or minion. Three Unix sockets: one publishes events to Salt's programs, one to all others, one takes fired
 * events.
 * Source: docs/protocol.md section 10.2.
 */
import { chmodSync, readlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { isMainThread } from "node:worker_threads";
import { ipcCloseGraceMs, ipcConnectionsMax } from "../limits.ts";
import { encodeEvent, FrameReader, frameMasterEvent, lostEventsTag } from "../wire/event.ts";
import { type Framing, reframe } from "../wire/event-framing.ts";
import { PeerFramings } from "./peer-framing.ts";
import { claimSocketPath, ownPathOf } from "./socket-path.ts";

export type EventStreamServerOptions = {
  /** Salt's socket. If it has Salt's name, a second one is opened beside it (`ownPathOf`). */
  pubPath: string;
  pullPath: string;
  /** Permission bits of the socket files: of the publishing sockets, and of the one that takes events. */
  pubMode: number;
  pullMode: number;
  /**
   * Bytes that may wait for one subscriber (`event_subscriber_max_bytes`); over it, whole frames are dropped for that subscriber. Our own programs
   * are told how many, as soon as they have read on.
   */
  subscriberBytesMax: number;
  /** Connections to each socket; default `ipcConnectionsMax`. */
  connectionsMax?: number;
  /** A program fired an event. The owner decides whether to publish it, and may keep the body. */
  onEvent: (body: Uint8Array) => void;
  /** A subscriber has fallen behind: called once each time that happens, with this server's count of dropped events. */
  onSubscriberDrop?: (droppedEvents: number) => void;
  /** A new connection was closed because its socket has `connectionsMax` already. */
  onRefused?: () => void;
  /** A malformed frame on the pull socket; its connection is closed. */
  onBadFrame?: (error: unknown) => void;
  /** Finds the framing of a new subscriber. Events published meanwhile wait for it. */
  framingOf?: (socketInode: string | undefined) => Promise<Framing>;
};

/** Inode of our end of a connection. Node.js gives the descriptor only on the handle. Undefined without /proc. */
function inodeOf(socket: Socket): string | undefined {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined || handle.fd < 0) return undefined;
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${handle.fd}`))?.[1];
  } catch {
    return undefined;
  }
}

type Subscriber = {
  socket: Socket;
  isBehind: boolean;
  /** Events that were dropped since it was last told. */
  lostEvents: number;
  framing: Framing | undefined;
  waiting: Uint8Array[];
  waitingBytes: number;
};

export class EventStreamServer {
  readonly #options: EventStreamServerOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #sources = new Set<Socket>();
  readonly #pub: Server;
  readonly #own: Server;
  readonly #pull: Server;
  readonly #peers = new PeerFramings();
  #droppedEvents = 0;
  #isClosing = false;

  private constructor(options: EventStreamServerOptions) {
    this.#options = options;
    this.#pub = createServer((socket) => this.#subscribe(socket));
    this.#own = createServer((socket) => this.#subscribe(socket, "own"));
    this.#pull = createServer((socket) => this.#listenTo(socket));
    for (const server of [this.#pub, this.#own, this.#pull]) {
      server.maxConnections = options.connectionsMax ?? ipcConnectionsMax;
      server.on("drop", () => options.onRefused?.());
    }
  }

  /**
   * Opens the sockets, pull first: when a client finds one of the others, all of them are open. Replaces files of a dead process.
   *
   * @throws SaltworksError MASTER_RUNNING if a process answers on a path, CONFIG_INVALID if a path cannot hold a socket
   */
  static async listen(options: EventStreamServerOptions): Promise<EventStreamServer> {
    const { pullPath, pubPath, pubMode } = options;
    const ownPath = ownPathOf(pubPath);
    for (const path of [pullPath, pubPath, ownPath]) if (path !== undefined) await claimSocketPath(path);
    const server = new EventStreamServer(options);
    try {
      await listenOn(server.#pull, pullPath, options.pullMode);
      if (ownPath !== undefined) await listenOn(server.#own, ownPath, pubMode);
      await listenOn(server.#pub, pubPath, pubMode);
    } catch (error) {
      for (const opened of server.#servers) opened.close();
      throw error;
    }
    return server;
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /** Queued bytes of the subscriber that is farthest behind. */
  get fullestSubscriberBytes(): number {
    let fullest = 0;
    for (const { socket, waitingBytes } of this.#subscribers) {
      fullest = Math.max(fullest, socket.writableLength + waitingBytes);
    }
    return fullest;
  }

  /** Events that subscribers did not get because they were too slow, summed over all of them. */
  get droppedEvents(): number {
    return this.#droppedEvents;
  }

  /**
   * Gives `frames` (whole IPC frames, not copied: do not change them afterwards) to every subscriber.
   *
   * @param eventCount number of frames, for the counter of dropped events
   */
  publish(frames: Uint8Array, eventCount = 1): void {
    const written = new Map<Framing, Uint8Array>();
    for (const subscriber of this.#subscribers) {
      const waitingBytes = subscriber.socket.writableLength + subscriber.waitingBytes;
      if (waitingBytes + frames.byteLength > this.#options.subscriberBytesMax) {
        this.#drop(subscriber, eventCount);
        continue;
      }
      // Hysteresis: with the full bound here, a slightly too slow subscriber would fall behind again at every second event.
      if (waitingBytes < this.#options.subscriberBytesMax / 2) subscriber.isBehind = false;
      const { framing } = subscriber;
      if (framing === undefined) {
        subscriber.waiting.push(frames);
        subscriber.waitingBytes += frames.byteLength;
        continue;
      }
      const bytes = written.get(framing) ?? reframe(frames, framing);
      written.set(framing, bytes);
      this.#holdForTurn(subscriber.socket);
      this.#tellLost(subscriber);
      subscriber.socket.write(bytes);
    }
  }

  /** Events of one turn go out in one write: a write costs more than an event. */
  #holdForTurn(socket: Socket): void {
    if (socket.writableCorked > 0) return;
    socket.cork();
    process.nextTick(() => socket.uncork());
  }

  /** Waits `ipcCloseGraceMs` for subscribers to read their queues, then ends every connection and removes the files. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const { socket, framing } of this.#subscribers) if (framing !== undefined) socket.end();
    for (const socket of this.#sources) socket.destroy();
    const grace = setTimeout(() => {
      for (const { socket } of this.#subscribers) socket.destroy();
    }, ipcCloseGraceMs);
    await Promise.all(this.#servers.map(closed));
    clearTimeout(grace);
  }

  get #servers(): readonly Server[] {
    return [this.#pub, this.#own, this.#pull].filter(({ listening }) => listening);
  }

  #drop(subscriber: Subscriber, eventCount: number): void {
    this.#droppedEvents += eventCount;
    subscriber.lostEvents += eventCount;
    if (subscriber.isBehind) return;
    subscriber.isBehind = true;
    this.#options.onSubscriberDrop?.(this.#droppedEvents);
  }

  /** Salt's programs do not know this event. */
  #tellLost(subscriber: Subscriber): void {
    const { socket, framing, lostEvents: count } = subscriber;
    if (count === 0 || framing !== "own") return;
    subscriber.lostEvents = 0;
    const _stamp = new Date().toISOString().slice(0, -1);
    socket.write(frameMasterEvent(encodeEvent(lostEventsTag, { count, _stamp })));
  }

  /** @param framing undefined for Salt's programs, whose framing depends on their release */
  #subscribe(socket: Socket, framing?: Framing): void {
    const subscriber: Subscriber = { socket, isBehind: false, lostEvents: 0, framing, waiting: [], waitingBytes: 0 };
    this.#subscribers.add(subscriber);
    if (framing === undefined) {
      const { framingOf = (inode: string | undefined) => this.#peers.of(inode) } = this.#options;
      framingOf(inodeOf(socket)).then(
        (answer) => this.#settle(subscriber, answer),
        (error: Error) => socket.destroy(error),
      );
    }
    // Subscribers may leave in the middle of a write. `close` follows every error.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#subscribers.delete(subscriber));
    // It has read all that waited, and the next event may be long in coming.
    socket.on("drain", () => {
      if (socket.writable) this.#tellLost(subscriber);
    });
    socket.resume();
  }

  #settle(subscriber: Subscriber, framing: Framing): void {
    subscriber.framing = framing;
    for (const frames of subscriber.waiting) subscriber.socket.write(reframe(frames, framing));
    subscriber.waiting = [];
    subscriber.waitingBytes = 0;
    if (this.#isClosing) subscriber.socket.end();
  }

  #listenTo(socket: Socket): void {
    const reader = new FrameReader();
    this.#sources.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sources.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      let bodies: Uint8Array[];
      try {
        bodies = reader.push(chunk);
      } catch (error) {
        socket.destroy();
        this.#options.onBadFrame?.(error);
        return;
      }
      for (const body of bodies) this.#options.onEvent(body);
    });
  }
}

/** Binds the socket and sets the file's mode in one turn. Until then the umask keeps other users out (a worker thread cannot set one). */
function listenOn(server: Server, path: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const maskBefore = isMainThread ? process.umask(0o177) : undefined;
    try {
      server.listen({ path, backlog: listenBacklog }, () => {
        server.off("error", reject);
        resolve();
      });
      if (server.listening) chmodSync(path, mode);
    } finally {
      if (maskBefore !== undefined) process.umask(maskBefore);
    }
  });
}

/** Backlog: connections that the kernel holds during a long turn of the event loop, as in a burst of `salt` commands or job processes. */
const listenBacklog = 1_024;

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
