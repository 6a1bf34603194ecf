/** What a storm is opened with. */
import type { RequestVersion } from "../minion-options.ts";
import type { StormHost } from "./host.ts";
import type { Ports, PrepareJobReturns } from "./messages.ts";

export type StormOptions = {
  readonly masterHost: string;
  readonly requestPort: number;
  /** Default: the port that the auth reply names. 0: no minion subscribes. */
  readonly publishPort?: number;
  /** Other members of the master's cluster, on the same host. Connections are spread over all by turns. */
  readonly others?: readonly Ports[];
  readonly minionCount: number;
  /** Minions take them by turns. Default: version 3. */
  readonly versions?: readonly RequestVersion[];
  readonly processCount?: number;
  /** Request connections of the whole storm; default one for each minion. With fewer, minions take turns on them. */
  readonly connections?: number;
  /** Default as `connections`. */
  readonly subscriptions?: number;
  /** For a master without `_auth`: the session key of all minions. */
  readonly sessionKey?: string;
  readonly idPrefix?: string;
  readonly firstIndex?: number;
  readonly keyDirectory?: string;
  /** How long keys may wait for their acceptance. */
  readonly acceptTimeoutMs?: number;
  /** The machines that the processes run on, with agents. Default: this one. */
  readonly hosts?: readonly StormHost[];
  readonly onProgress?: (done: number) => void;
  /** Aborts every wait. The caller still closes the storm. */
  readonly signal?: AbortSignal;
};

/** `connections`: separate ones; 0: the minions' own. `returns.minion`: index in the fleet. `plannedMs`: of each return. */
export type JobReturnsOptions = Omit<PrepareJobReturns, "kind" | "sealedBytesMax"> & {
  readonly plannedMs: Float64Array;
};
