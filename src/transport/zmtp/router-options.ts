/** Options of a ROUTER of ours: its address, bounds and callbacks. */
import type { Keepalive } from "../keepalive.ts";
import type { SharedMemory } from "./bodies/shared-memory.ts";
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
  /** All connections; at the bound the oldest unproven one is closed for a new one. */
  readonly connectionsMax: number;
  /** Unproven connections of one address; 0: no bound. */
  readonly addressConnectionsMax: number;
  /** Into which large requests of proven connections are read. `onMessage` may keep such a request by `keep`. */
  readonly memory: SharedMemory;
  /** Addresses of proxies, behind which many clients connect. */
  readonly isProxy: (address: string) => boolean;
  /** The last part is only valid during the call, see `kept`. */
  readonly onMessage: (peer: Peer, parts: readonly Buffer[]) => void;
  /** Decides whether an unproven connection may send a part over `largeRequestBytes`. `head`: its first bytes. */
  readonly mayBeLarge: (head: Buffer, partBytes: number) => boolean;
  /** An address began to owe: it left more unfinished bytes than `unfinishedBytesPerSecondMax` allows. */
  readonly onOwing: (address: string) => void;
  /** The listening socket failed for good. */
  readonly onFault: (error: Error) => void;
  /** Default: those of src/limits.ts. */
  readonly bounds?: Partial<RouterBounds>;
};
