/** A master that a scenario drives: the contract that ours, real Salt's and the C floor meet. Types only. */
import type { LocalClient } from "../../local-client.ts";
import type { MasterKind } from "../../results/schema.ts";

/** Counters of our master: those of its main thread, and of each worker. */
export type MasterCounters = {
  readonly main: ReadonlyMap<string, number>;
  readonly workers: readonly ReadonlyMap<string, number>[];
};

export type MasterUnderTest = {
  readonly kind: MasterKind;
  /** The version as the program prints it. */
  readonly version: string;
  /** Where its ports are. */
  readonly host: string;
  /** Where its CPU time and memory can be read: /proc of this machine by `processId`, its metrics, or nowhere. */
  readonly usageFrom: "process" | "metrics" | "nowhere";
  readonly processId: number;
  /** Set for a master that runs already: what the bench can reach besides its ports. Members that it cannot reach throw. */
  readonly reach?: Reach;
  readonly requestPort: number;
  readonly publishPort: number;
  /** Set for a cluster of ours, whose first member this is. */
  readonly cluster?: ClusterUnderTest;
  readonly socketDirectory: string;
  readonly cacheDirectory: string;
  /** Undefined for a master without configuration files. */
  readonly configDirectory?: string;
  /** Undefined for a master without keys. */
  readonly pkiDirectory?: string;
  /** For a master without `_auth`: the session key (Base64 text) under which every minion seals. */
  readonly sessionKey?: string;
  /** The path of its log, if it writes one. */
  readonly logFile?: string;
  client(): LocalClient;
  /** Deletes a minion's key as the operator's command does, and the master's key is rotated. */
  deleteKey?(id: string): Promise<void>;
  /** Sends TERM or KILL and starts the same program again in the same directories; resolves when it answers. */
  restart(options?: { kill?: boolean }): Promise<void>;
  /** The last lines of its log. */
  logTail(): string;
  counters?(): Promise<MasterCounters>;
  /** Its metrics in Prometheus' text format. */
  metrics?(): Promise<string>;
  /** Gets the figures of each second of a measured span as they come. */
  onSample?(sample: MasterSample): void;
  remove(): Promise<void>;
};

export type ClusterUnderTest = {
  readonly natsServerVersion: string;
  /** All of them. */
  readonly members: readonly MemberUnderTest[];
  /** How many of them, the first ones, take the minions by turns. */
  readonly takerCount: number;
};

/** `serverProcessId`: of its nats-server, a child of `processId`. */
export type MemberUnderTest = {
  readonly name: string;
  readonly processId: number;
  readonly serverProcessId: number;
  readonly requestPort: number;
  readonly publishPort: number;
  readonly cacheDirectory: string;
};

/**
 * `publishes`: it takes jobs from this user. `isStoreRead`: its job cache can be read from the disk. `isHeard`: its events can be followed.
 * `keyDirectory`: of the simulated minions' keys. `acceptTimeoutMs`: how long they wait for an operator to accept them.
 */
export type Reach = {
  readonly publishes: boolean;
  readonly isStoreRead: boolean;
  readonly isHeard: boolean;
  readonly keyDirectory?: string;
  readonly acceptTimeoutMs: number;
};

/** Figures of one moment, by their names in `Series`. `atMs`: since the start of the span. */
export type MasterSample = { readonly atMs: number; readonly values: Readonly<Record<string, number>> };
