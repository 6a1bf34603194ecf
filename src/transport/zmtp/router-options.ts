/** Options of a ROUTER of ours: where it listens, what it accepts, and its listeners. */
import type { Keepalive } from "../keepalive.ts";
import type { RouterBounds } from "./bounds.ts";
import type { Peer } from "./peer.ts";

export type RouterServerOptions = {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly backlog: number;
  /** A socket that another part opened and that listens at host and port already. It is closed with the server. */
  readonly descriptor?: number | undefined;
  readonly keepalive: Keepalive;
  /** Bytes of all parts of one message. */
  readonly messageBytesMax: number;
  /** All connections; the oldest that proved nothing makes room for a new one. */
  readonly connectionsMax: number;
  /** Connections of one address that proved nothing; 0: no bound. */
  readonly addressConnectionsMax: number;
  /** Addresses behind which there are many clients. */
  readonly isProxy: (address: string) => boolean;
  readonly onMessage: (peer: Peer, parts: readonly Buffer[]) => void;
  /** Decides about a part over `largeRequestBytes` of a connection that proved nothing. `head`: its first bytes. */
  readonly mayBeLarge: (head: Buffer, partBytes: number) => boolean;
  /** An address has left more messages unfinished than it may. */
  readonly onOwing: (address: string) => void;
  /** The listening socket failed for good. */
  readonly onFault: (error: Error) => void;
  /** Default: those of src/limits.ts. */
  readonly bounds?: Partial<RouterBounds>;
};
