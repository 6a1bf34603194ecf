/**
 * Looks at the cluster's servers now and then, as a member's server tells them, and says what has changed: a server turns its store off by itself when
 * its disk is full, and the members notice nothing of it as long as the others make a majority.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { clusterLookMs } from "../limits.ts";
import { type ClusterConnection, connectCluster, noteLoss, type ServerAccess } from "./connection.ts";
import type { ClusterStatus } from "./status.ts";

/** Where the state of the servers is asked for, and how. `access`: to this member's server as the system's user, or to an operator's servers. */
export type WatchedServers = {
  readonly access: ServerAccess;
  readonly read: (connection: ClusterConnection) => Promise<ClusterStatus>;
  /** Starts this member's own server again, whose store is off, if its disk has room. @returns whether it does */
  readonly mendStore?: () => Promise<boolean>;
};

export type ServerWatchOptions = WatchedServers & {
  readonly member: string;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** Between two looks. Tests use less. */
  readonly everyMs?: number;
};

/** Without a system account it is seen that a server takes no part, and not why. */
const storelessTexts = {
  servers:
    "has turned its store off, most often because its disk is full: it keeps no records until it is started again, as its member does once the disk has room",
  streams:
    "keeps none of the cluster's new records: it is down or cut off, or its store is off because its disk is full",
} as const;

export class ServerWatch {
  /** `storesLost`: servers that turned their store off. `storesMended`: starts of the own one for it. `leadersLost`: streams without a leader at two looks. `unanswered`: looks without an answer. */
  readonly counters = { storesLost: 0, storesMended: 0, quorumsLost: 0, leadersLost: 0, unanswered: 0 };
  /** At the latest look; undefined before the first one, and while no server answers. */
  status: ClusterStatus | undefined;
  readonly #options: ServerWatchOptions;
  readonly #ending = new AbortController();
  /** Of servers whose store is off. */
  #storeless: readonly string[] = [];
  #hadQuorum = true;
  /** Streams that had no leader at the latest look, and ones of which the log tells that. */
  #leaderless: readonly string[] = [];
  #toldLeaderless: readonly string[] = [];
  #connection: ClusterConnection | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ServerWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { everyMs = clusterLookMs } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#look();
      // Rejects at the end, which is asked for here.
      await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { signal } = this.#ending;
    try {
      this.#connection ??= await this.#connect();
      this.#note(await this.#options.read(this.#connection));
    } catch (err) {
      if (signal.aborted) return;
      this.counters.unanswered += 1;
      if (this.status !== undefined) this.#options.logger.warn({ err }, "no server of the cluster answers this member");
      this.status = undefined;
      return;
    }
    await this.#mendOwn();
  }

  async #connect(): Promise<ClusterConnection> {
    const { access, member, logger, everyMs = clusterLookMs } = this.#options;
    const { signal } = this.#ending;
    const connection = await connectCluster({ ...access, name: `${member} watch`, waitMs: everyMs, signal });
    noteLoss(connection, signal, (err) => {
      logger.error({ err }, "the cluster's servers are looked at by a new connection");
      this.#connection = undefined;
    });
    return connection;
  }

  async #mendOwn(): Promise<void> {
    const { mendStore, member, logger } = this.#options;
    if (mendStore === undefined || !this.#storeless.includes(member)) return;
    try {
      if (!(await mendStore())) return;
      this.counters.storesMended += 1;
      logger.warn("this member's server had turned its store off, and its disk has room again: it is started again");
    } catch (err) {
      logger.warn({ err }, "it is not known whether the disk of this member's server has room again");
    }
  }

  #note(status: ClusterStatus): void {
    const { logger, member } = this.#options;
    this.status = status;
    const storeless = status.servers.filter(({ isStoring }) => !isStoring).map(({ name }) => name);
    for (const server of storeless.filter((name) => !this.#storeless.includes(name))) {
      this.counters.storesLost += 1;
      logger.error({ server, isOwn: server === member }, `a server of the cluster ${storelessTexts[status.sees]}`);
    }
    for (const server of this.#storeless.filter((name) => !storeless.includes(name)))
      logger.info({ server }, "a server of the cluster keeps its records again, or has left");
    this.#storeless = storeless;
    if (this.#hadQuorum && !status.hasQuorum) {
      this.counters.quorumsLost += 1;
      const silent = status.servers.filter(({ isAnswering }) => !isAnswering).map(({ name }) => name);
      logger.error({ silent, storeless }, "the cluster has lost its majority: changes of keys wait");
    }
    if (!this.#hadQuorum && status.hasQuorum) logger.info("the cluster has its majority again");
    this.#hadQuorum = status.hasQuorum;
    this.#noteLeaderless(status);
  }

  /** A stream is between two leaders for some seconds. One that still has none at the next look has lost its majority. */
  #noteLeaderless({ hasQuorum, leaderless }: ClusterStatus): void {
    const { logger } = this.#options;
    const lasting = leaderless.filter((name) => this.#leaderless.includes(name));
    this.#leaderless = leaderless;
    // Without a majority of the servers no stream has a leader.
    const streams = lasting.filter((name) => !this.#toldLeaderless.includes(name));
    if (hasQuorum && streams.length > 0) {
      this.counters.leadersLost += streams.length;
      logger.error({ streams }, "streams of the cluster take no records: too few of the servers with a copy answer");
      this.#toldLeaderless = [...this.#toldLeaderless, ...streams];
    }
    const again = this.#toldLeaderless.filter((name) => !leaderless.includes(name));
    if (again.length > 0) logger.info({ streams: again }, "streams of the cluster take records again");
    this.#toldLeaderless = this.#toldLeaderless.filter((name) => leaderless.includes(name));
  }
}
