/** Shares presence and minions' data with the other members: made before the master's parts, so that they can hold it, and started when NATS answers. */
import type { Logger } from "pino";
import type { ClusterConnection } from "../../cluster/connection.ts";
import type { LocalMinions, ShareAsk } from "../../cluster/minions/local.ts";
import { MinionReplica } from "../../cluster/minions/replica.ts";
import { clusterNames } from "../../cluster/names.ts";
import { Elsewhere } from "../../cluster/presence/elsewhere.ts";
import { PresenceExchange } from "../../cluster/presence/exchange.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";

export type SharingOptions = {
  readonly clusterId: string;
  readonly member: string;
  readonly replicas: number;
  readonly box: SecretBox;
  readonly logger: Logger;
};

/** The workers of this master. */
export type SharingWorkers = { readonly pool: WorkerPool; readonly start: WorkerStart };

export class MinionSharing {
  readonly elsewhere = new Elsewhere();
  readonly #options: SharingOptions;
  #presence: PresenceExchange | undefined;
  #minions: MinionReplica | undefined;
  #isClosed = false;

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /** Tells the others which minions are connected, and hears of theirs. */
  sharePresence({ nats }: ClusterConnection): void {
    if (this.#isClosed) return;
    const { clusterId, member, logger } = this.#options;
    const { digest, others } = this.elsewhere;
    const { presenceSubject: subject } = clusterNames(clusterId);
    this.#presence ??= new PresenceExchange({ nats, subject, member, digest, others, logger });
  }

  /** Sends and takes grains, pillars and mines. Call it when the cluster's minion keys are here. */
  shareMinions({ jetstream, manager }: ClusterConnection, { pool, start }: SharingWorkers): void {
    if (this.#isClosed) return;
    const { clusterId, replicas, box, logger } = this.#options;
    const { minionStream: name, minionSubjects: prefix } = clusterNames(clusterId);
    this.#minions ??= new MinionReplica({
      clients: { jetstream, manager },
      stream: { name, prefix, replicas },
      ...{ box, logger, local: workersOf(pool, start) },
      isAccepted: (id) => start.accepted.has(id),
    });
  }

  /** For the metrics. */
  counts() {
    const { others } = this.elsewhere;
    const [presence, minions] = [this.#presence, this.#minions];
    return {
      minionsOf: others.counts(),
      presence: { ...others.counters, sent: 0, lists: 0, unreadable: 0, ...presence?.counters },
      data: {
        ...{ received: 0, applied: 0, kept: 0, ignored: 0, faults: 0 },
        ...{ sent: 0, refused: 0, failures: 0 },
        ...minions?.counters,
        ...minions?.sender.counters,
        dropped: (minions?.counters.dropped ?? 0) + (minions?.sender.counters.dropped ?? 0),
      },
      waiting: minions?.sender.waiting ?? 0,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#presence?.close();
    await this.#minions?.close();
  }
}

function workersOf(pool: WorkerPool, start: WorkerStart): LocalMinions {
  const partitioner = new Partitioner(start.partitionKey, start.config.partitions);
  return {
    slotCount: pool.slotCount,
    slotOf: (id) => partitioner.slotOf(id, pool.slotCount),
    ask: <Result>(slot: number, ask: ShareAsk, bytes: number) =>
      pool.offer<Result>(slot, {
        bytes,
        isUrgent: true,
        build: () => ({ task: { kind: "shareMinions", ask }, transfer: [] }),
      }),
  };
}
