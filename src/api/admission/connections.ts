/**
 * Open connections. A connection is a stranger's until a request over it had a session. Beyond a bound a stranger's connection gives way to the
 * newest one: the oldest of the address that has the most. So idle connections of one address keep out neither others nor itself.
 */
import type { Socket } from "node:net";
import { apiConnectionsMax, apiStrangerConnectionsMax } from "../../limits.ts";
import { addressKey } from "../../transport/zmtp/address.ts";

/** Ends with an answer if it can: over a connection that carried no answer yet. */
export type EndConnection = (socket: Socket) => void;

/** Under TLS, a request's socket is another one than the connection's: both have the same two ends. */
function endsOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ""} ${socket.remotePort ?? 0} ${socket.localPort ?? 0}`;
}

export type ConnectionBounds = { readonly all: number; readonly strangers: number };

export class Connections {
  /** `displaced` gave way, `refused` were closed at once, `unread` had an answer that their client did not read, `timedOut` were ended by the system: the other end was gone, or read nothing. */
  readonly counters = { open: 0, strangers: 0, displaced: 0, refused: 0, unread: 0, timedOut: 0 };
  readonly #bounds: ConnectionBounds;
  readonly #end: EndConnection;
  /** Strangers' connections by address, each with the oldest first. */
  readonly #strangers = new Map<string, Map<string, Socket>>();

  readonly #known = new WeakSet<Socket>();

  constructor(end: EndConnection, bounds?: ConnectionBounds) {
    this.#end = end;
    this.#bounds = bounds ?? { all: apiConnectionsMax, strangers: apiStrangerConnectionsMax };
  }

  /** May be called again for the same socket, whose request is read anew. */
  accept(socket: Socket): void {
    if (this.#known.has(socket)) return;
    this.#known.add(socket);
    const address = addressKey(socket.remoteAddress ?? "");
    const ends = endsOf(socket);
    const own = this.#strangers.get(address) ?? new Map<string, Socket>();
    this.#strangers.set(address, own);
    own.set(ends, socket);
    this.counters.open += 1;
    this.counters.strangers += 1;
    socket.once("close", () => {
      this.counters.open -= 1;
      this.#forget(address, ends);
    });
    const { all, strangers } = this.#bounds;
    if (this.counters.open > all || this.counters.strangers > strangers) this.#makeRoom(socket);
  }

  /** A request over this connection had a session. */
  prove(socket: Socket): void {
    this.#forget(addressKey(socket.remoteAddress ?? ""), endsOf(socket));
  }

  #forget(address: string, ends: string): void {
    const own = this.#strangers.get(address);
    if (own === undefined || !own.delete(ends)) return;
    this.counters.strangers -= 1;
    if (own.size === 0) this.#strangers.delete(address);
  }

  #makeRoom(newest: Socket): void {
    let most: Map<string, Socket> | undefined;
    for (const own of this.#strangers.values()) if (own.size > (most?.size ?? 0)) most = own;
    const [first] = most?.entries() ?? [];
    if (most === undefined || first === undefined) return;
    const [ends, oldest] = first;
    if (oldest === newest) this.counters.refused += 1;
    else this.counters.displaced += 1;
    most.delete(ends);
    this.counters.strangers -= 1;
    this.#end(oldest);
  }
}
