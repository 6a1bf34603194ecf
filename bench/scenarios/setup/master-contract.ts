/** A master that a scenario drives: the contract that ours, real Salt's and the C floor meet. Types only. */
import type { LocalClient } from "../../local-client.ts";
import type { MasterKind } from "../../results/schema.ts";

/** Counters of our master: its main thread's, and each worker's. */
export type MasterCounters = {
  readonly main: ReadonlyMap<string, number>;
  readonly workers: readonly ReadonlyMap<string, number>[];
};

export type MasterUnderTest = {
  readonly kind: MasterKind;
  /** As the program says it. */
  readonly version: string;
  readonly processId: number;
  readonly requestPort: number;
  readonly publishPort: number;
  readonly socketDirectory: string;
  readonly cacheDirectory: string;
  /** Absent where there are no keys. */
  readonly pkiDirectory?: string;
  /** A master that knows no `_auth`: every minion seals under this session key (its text, Base64). */
  readonly sessionKey?: string;
  /** Where it logs, if it does. */
  readonly logFile?: string;
  client(): LocalClient;
  /** As the operator's command does: the minion is known no more, and the master's key is rotated. */
  deleteKey?(id: string): Promise<void>;
  /** TERM, or KILL, and the same program in the same directories again; resolves when it answers. */
  restart(options?: { kill?: boolean }): Promise<void>;
  /** The last lines of what it logged. */
  logTail(): string;
  counters?(): Promise<MasterCounters>;
  /** Prometheus text. */
  metrics?(): Promise<string>;
  remove(): Promise<void>;
};
