/**
 * The request port: a ROUTER that speaks ZMTP over Node's own sockets. It passes requests on without reading their content.
 * docs/ARCHITECTURE.md, "Overload": while reading is paused, TCP holds the rest back; docs/decisions/0022-request-front.md.
 */
import { replyLingerMs } from "../../limits.ts";
import type { Peer } from "../../transport/zmtp/peer.ts";
import type { PeerGroupName } from "../../transport/zmtp/peer-group.ts";
import type { RouterServerOptions } from "../../transport/zmtp/router-options.ts";
import { RouterServer } from "../../transport/zmtp/router-server.ts";
import { badLoad } from "../../wire/reply.ts";
import { connectionsMax, endpointOf, hostAddress, listenError } from "./endpoint.ts";
import type { RequestConnection } from "./request-connection.ts";

export type RequestFrontOptions = Pick<
  RouterServerOptions,
  | "host"
  | "port"
  | "backlog"
  | "descriptor"
  | "keepalive"
  | "messageBytesMax"
  | "addressConnectionsMax"
  | "memory"
  | "isProxy"
  | "mayBeLarge"
  | "onOwing"
> & {
  /** The frame is only valid during the call, see `kept`. */
  readonly onRequest: (connection: RequestConnection, frame: Buffer) => void;
  /** Called when the socket failed for good. */
  readonly onFault: (error: Error) => void;
};

export class RequestFront {
  readonly counters = { requests: 0, malformed: 0, replies: 0, repliesDropped: 0 };
  readonly #options: RequestFrontOptions;
  #server: RouterServer | undefined;
  /** Size of the largest request so far. */
  largestFrameBytes = 0;
  #isStopped = false;

  private constructor(options: RequestFrontOptions) {
    this.#options = options;
  }

  /** Binds the port and starts reading. @throws SaltworksError MASTER_RUNNING if the port or address cannot be bound */
  static async bind(options: RequestFrontOptions): Promise<RequestFront> {
    const front = new RequestFront(options);
    try {
      front.#server = await RouterServer.listen({
        ...options,
        host: hostAddress(options.host),
        connectionsMax: connectionsMax(),
        onMessage: (connection, parts) => front.#take(connection, parts),
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
  reply(connection: RequestConnection, payload: Uint8Array): void {
    if (this.#server?.reply(connection as Peer, payload)) this.counters.replies += 1;
    else this.counters.repliesDropped += 1;
  }

  /** Gives up one request of this connection: it gets no reply. */
  forget(connection: RequestConnection): void {
    this.#server?.forget(connection as Peer);
  }

  /** Marks the connection as proven: a request over it was proven to be a minion's or an operator's. */
  prove(connection: RequestConnection): void {
    if (!connection.isProven) this.#server?.prove(connection as Peer);
  }

  /** Whether a connection of the address has proved itself within `provenAddressMs`. */
  hasProven(address: string): boolean {
    return this.#server?.hasProven(address) ?? false;
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

  #take(connection: Peer, parts: readonly Buffer[]): void {
    const [empty, frame] = parts;
    if (this.#isStopped) return;
    if (frame === undefined || parts.length !== 2 || empty?.byteLength !== 0) {
      this.counters.malformed += 1;
      // Without the empty part the sender is not a REQ socket, and may expect its reply in another form.
      if (empty?.byteLength === 0) this.reply(connection, badLoad);
      else this.forget(connection);
      return;
    }
    this.counters.requests += 1;
    if (frame.byteLength > this.largestFrameBytes) this.largestFrameBytes = frame.byteLength;
    this.#options.onRequest(connection, frame);
  }
}
