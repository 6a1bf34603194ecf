/**
 * The request port: a ROUTER that speaks ZMTP over Node's own sockets. It passes requests on as they come and never looks inside.
 * docs/ARCHITECTURE.md, "Overload": a paused reader leaves the rest to TCP; docs/decisions/0022-request-front.md.
 */
import { replyLingerMs } from "../../limits.ts";
import type { Peer } from "../../transport/zmtp/peer.ts";
import type { PeerGroupName } from "../../transport/zmtp/peer-group.ts";
import type { RouterServerOptions } from "../../transport/zmtp/router-options.ts";
import { RouterServer } from "../../transport/zmtp/router-server.ts";
import { badLoad } from "../../wire/reply.ts";
import { connectionsMax, endpointOf, hostAddress, listenError } from "./endpoint.ts";
import type { RequestPeer } from "./request-peer.ts";

export type RequestFrontOptions = Pick<
  RouterServerOptions,
  | "host"
  | "port"
  | "backlog"
  | "descriptor"
  | "keepalive"
  | "messageBytesMax"
  | "addressConnectionsMax"
  | "isProxy"
  | "mayBeLarge"
  | "onOwing"
> & {
  readonly onRequest: (peer: RequestPeer, frame: Buffer) => void;
  /** The socket failed for good. */
  readonly onFault: (error: Error) => void;
};

export class RequestFront {
  readonly counters = { requests: 0, malformed: 0, replies: 0, repliesDropped: 0 };
  readonly #options: RequestFrontOptions;
  #server: RouterServer | undefined;
  /** Of the requests so far. */
  largestFrameBytes = 0;
  #isStopped = false;

  private constructor(options: RequestFrontOptions) {
    this.#options = options;
  }

  /** Binds and starts reading. @throws SaltworksError MASTER_RUNNING if the port or address cannot be had */
  static async bind(options: RequestFrontOptions): Promise<RequestFront> {
    const front = new RequestFront(options);
    try {
      front.#server = await RouterServer.listen({
        ...options,
        host: hostAddress(options.host),
        connectionsMax: connectionsMax(),
        onMessage: (peer, parts) => front.#take(peer, parts),
      });
    } catch (error) {
      throw listenError("ret_port", error as NodeJS.ErrnoException, options.host, options.port);
    }
    return front;
  }

  /** Counters and sums of its connections. */
  get server(): RouterServer | undefined {
    return this.#server;
  }

  /** The bound address, with the chosen port if the configured one is 0. */
  get boundEndpoint(): string {
    return endpointOf(this.#options.host, this.#server?.port ?? this.#options.port);
  }

  /** Sends one reply. If the connection is gone, the reply is dropped and counted. */
  reply(peer: RequestPeer, payload: Uint8Array): void {
    if (this.#server?.reply(peer as Peer, payload)) this.counters.replies += 1;
    else this.counters.repliesDropped += 1;
  }

  /** One request of this peer gets no reply. */
  forget(peer: RequestPeer): void {
    this.#server?.forget(peer as Peer);
  }

  /** A request over this connection was proven to be a minion's or an operator's. */
  prove(peer: RequestPeer): void {
    if (!peer.isProven) this.#server?.prove(peer as Peer);
  }

  pause(readers: PeerGroupName): void {
    this.#server?.pause(readers);
  }

  resume(readers: PeerGroupName): void {
    if (!this.#isStopped) this.#server?.resume(readers);
  }

  /** Stops reading requests; replies may be sent until `close`. Clients send unread requests again. */
  stopReceiving(): void {
    this.#isStopped = true;
    this.#server?.stop();
  }

  async close(): Promise<void> {
    this.#isStopped = true;
    await this.#server?.close(replyLingerMs);
  }

  #take(peer: Peer, parts: readonly Buffer[]): void {
    const [empty, frame] = parts;
    if (this.#isStopped) return;
    if (frame === undefined || parts.length !== 2 || empty?.byteLength !== 0) {
      this.counters.malformed += 1;
      // Without the empty part the sender is not a REQ socket, and may expect its reply in another form.
      if (empty?.byteLength === 0) this.reply(peer, badLoad);
      else this.forget(peer);
      return;
    }
    this.counters.requests += 1;
    if (frame.byteLength > this.largestFrameBytes) this.largestFrameBytes = frame.byteLength;
    this.#options.onRequest(peer, frame);
  }
}
