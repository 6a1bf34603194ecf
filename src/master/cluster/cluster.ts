/**
 * This master as a member of a cluster: before the start it takes the cluster's key pair, after it it shares the AES key with the other members. A member
 * that has joined once starts without the others, and joins them when they answer.
 */
import { join } from "node:path";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { Logger } from "pino";
import {
  type ClusterConnection,
  connectCluster,
  noteLoss,
  retried,
  type ServerAccess,
  serversOf,
  untilAnswered,
} from "../../cluster/connection.ts";
import { JobStream } from "../../cluster/jobs/stream.ts";
import { KeyReplica } from "../../cluster/keys/replica.ts";
import type { Member } from "../../cluster/member.ts";
import { clusterNames } from "../../cluster/names.ts";
import { explained, tellFaults } from "../../cluster/operator/connection-faults.ts";
import type { ReturnReceiver } from "../../cluster/returns/receiver.ts";
import type { ClusterKeys } from "../../cluster/secret.ts";
import { shareIdentity } from "../../cluster/secrets/identity.ts";
import { demandNoneTrusted, TrustedTeller } from "../../cluster/secrets/trusted.ts";
import { ServerWatch, type WatchedServers } from "../../cluster/server-watch.ts";
import { makerMark, openOrFind } from "../../cluster/stream-identity.ts";
import { type SharedTokens, TokenReplica } from "../../cluster/tokens/replica.ts";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode } from "../../errors.ts";
import { clusterAttachRetryMs } from "../../limits.ts";
import { replaceDurably } from "../../store/disk/durable-file.ts";
import {
  ensureMasterKeys,
  type KeyChange,
  openKeyDirectories,
  presentMasterKeys,
  takeMasterKeys,
} from "../../store/keys/keys.ts";
import { type SecretBox, secretBoxWith } from "../../store/secrets/sealed.ts";
import type { MasterSecrets } from "../../store/secrets/secrets.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { newRefusals } from "../../workers/state/cluster-returns.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { JoiningSequence } from "../publish/sequence.ts";
import type { KeyManagement } from "../upkeep/key-management.ts";
import { type ClusterReport, sampleCluster } from "./cluster-metrics.ts";
import { ClusterSecrets } from "./cluster-secrets.ts";
import { markOf, markText, readMark } from "./joined-mark.ts";
import { JobLeases, type OwnedJobs, sampleLeases } from "./leases/job-leases.ts";
import { openLikeness } from "./likeness.ts";
import { followMemberReturns, type ReturnParts, sampleMemberReturns } from "./member-returns.ts";
import { MinionSharing, type SharingWorkers } from "./minion-sharing.ts";
import { SecretSharing } from "./secret-sharing.ts";

export type ClusterStart = {
  readonly member: Member;
  readonly keys: ClusterKeys;
  /** To the member's own server as its client, or to an operator's. */
  readonly access: ServerAccess;
  readonly watched: WatchedServers;
  /** How often the member's server was started again. */
  readonly restarts: () => number;
  /** Ends the member's server, if it has one. */
  readonly stop: () => Promise<void>;
};

type JoinParts = { readonly start: ClusterStart; readonly config: MasterConfig; readonly logger: Logger };

export type AttachParts = SharingWorkers &
  OwnedJobs & {
    readonly secrets: MasterSecrets;
    readonly keyManagement: Pick<KeyManagement, "follow" | "onAccepted">;
    /** The master started without a single accepted key. Then keys that were in step before count as lost with the disk, and not as deleted. */
    readonly areKeysLost: boolean;
    readonly metrics: Pick<Metrics, "addSource">;
    /** Applies what other members changed in the accepted keys; the files are written already. */
    readonly applyKeys: (change: KeyChange) => void;
    readonly returns: ReturnParts;
    readonly tokens: SharedTokens;
    /** Ends the master, because it cannot go on. */
    readonly fail: (error: Error) => void;
  };

export class Cluster {
  /** For the publisher. It refuses jobs until this member has joined. */
  readonly sequence = new JoiningSequence();
  readonly #parts: JoinParts;
  readonly #box: SecretBox;
  /** Presence and minions' data, which the master's parts hold from its start on. */
  readonly minions: MinionSharing;
  /** Which member goes on with which batch job and waiting job. */
  readonly leases: JobLeases;
  readonly #ending = new AbortController();
  #connection: ClusterConnection | undefined;
  /** Undefined before anything of the master holds the connection. */
  #fail: AttachParts["fail"] | undefined;
  #sharing: SecretSharing | undefined;
  readonly #watch: ServerWatch;
  /** Whether this member had the cluster's key pair at its start. */
  #hasJoined = false;
  /** Whether keys and secrets are shared since the start. */
  #isInStep = false;
  #keys: KeyReplica | undefined;
  #returns: ReturnReceiver | undefined;
  #tokens: TokenReplica | undefined;
  #likeness: ReturnType<typeof openLikeness> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #attaching: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(parts: JoinParts) {
    this.#parts = parts;
    this.#box = secretBoxWith(parts.start.keys.sealKey);
    const { watched, member } = parts.start;
    const { logger } = parts;
    const { clusterId, name, replicas, operatorNats } = member;
    this.#watch = new ServerWatch({ ...watched, member: name, logger });
    const common = { clusterId, member: name, replicas, box: this.#box, logger };
    this.minions = new MinionSharing(common);
    const isOperatorNats = operatorNats !== undefined;
    this.leases = new JobLeases({ ...common, isOperatorNats, cachedir: parts.config.cachedir });
  }

  /**
   * Takes the cluster's key pair, if this master does not have it yet.
   *
   * @throws SaltworksError CLUSTER_UNAVAILABLE if the cluster does not answer within `cluster_join_timeout`, CLUSTER_REFUSED if it does not fit
   */
  static async join(parts: JoinParts): Promise<Cluster> {
    const cluster = new Cluster(parts);
    const { member } = parts.start;
    const present = presentMasterKeys(parts.config.pki_dir, parts.config.key_pass ?? undefined);
    if (present !== undefined && readMark(member) === markText(member, present)) {
      cluster.#hasJoined = true;
      return cluster;
    }
    try {
      await cluster.#takeIdentity();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** What the workers need to send returns to the other members. */
  get workerStart(): WorkerStart["cluster"] {
    const { member, access } = this.#parts.start;
    return { ...access, clusterId: member.clusterId, member: member.name, refusals: newRefusals() };
  }

  /** The master's secrets, whose rotations are the cluster's. */
  sharing(local: MasterSecrets): MasterSecrets {
    return new ClusterSecrets(local, () => this.#sharing?.shared);
  }

  /** Joins the others as soon as they answer: takes their AES key and their minions' keys, and follows both. */
  attach(parts: AttachParts): void {
    this.#fail = parts.fail;
    this.#watch.start();
    parts.keyManagement.onAccepted((ids) => this.noteKeys({ added: [...ids], removed: [], changed: [] }));
    parts.metrics.addSource((samples) => sampleCluster(samples, this.#report()));
    parts.metrics.addSource((samples) => sampleLeases(samples, this.leases));
    this.#tryToAttach(parts);
  }

  #tryToAttach(parts: AttachParts): void {
    this.#attaching = this.#attach(parts).catch((error: Error) => {
      if (this.#ending.signal.aborted) return;
      const { logger } = this.#parts;
      logger.error({ err: error }, "this member does not share the cluster's keys");
      if (hasCode(error, "CLUSTER_REFUSED")) return;
      this.#retry = setTimeout(() => this.#tryToAttach(parts), clusterAttachRetryMs);
    });
  }

  #report(): ClusterReport {
    const { member, restarts } = this.#parts.start;
    return {
      ...{ cluster: member.clusterId, member: member.name, hasJoined: this.#isInStep, serverRestarts: restarts() },
      ...{ status: this.#watch.status, watch: this.#watch.counters, secretsLost: this.#sharing?.counters.lost ?? 0 },
      aes: this.#sharing?.shared?.counters,
      keys: this.#keys && { pending: this.#keys.waitingCount, counters: this.#keys.counters },
      tokens: this.#tokens?.counters,
    };
  }

  /** Sends a change of this master's key directories to the others at once. */
  noteKeys(change: Omit<KeyChange, "rotate">): void {
    this.#keys?.noteLocal(change);
  }

  /** Resolves when nothing of this member is on its way to the cluster. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#retry);
    this.leases.release();
    await this.sequence.close();
    await this.leases.close();
    const shared = this.#sharing?.close();
    const parts = [this.minions.close(), this.#returns?.close(), this.#keys?.close(), this.#watch.close()];
    await Promise.all([...parts, this.#tokens?.close(), this.#likeness?.close()]);
    await this.#connection?.close();
    await shared;
    // Without its connection an attempt to join ends soon.
    await this.#attaching;
  }

  async #attach(parts: AttachParts): Promise<void> {
    const { secrets, keyManagement, applyKeys, areKeysLost } = parts;
    const { config, logger, start } = this.#parts;
    this.minions.sharePresence(await this.#untilAnswered(serversOf(start.access), () => this.#connect()));
    await this.#sharing?.close();
    const sharing = new SecretSharing({
      ...{ member: start.member.name, box: this.#box, logger, secrets, keyManagement },
      openBucket: () => this.#openBucket(),
      untilAnswered: (what, attempt) => this.#untilAnswered(what, attempt),
      keyPair: () => ensureMasterKeys(config.pki_dir, config.keysize, "master", config.key_pass ?? undefined),
    });
    this.#sharing = sharing;
    await sharing.start(this.#hasJoined);
    const owners = () => this.leases.owners();
    this.#likeness ??= openLikeness((await this.#connect()).nats, { config, logger, member: start.member, owners });
    this.#keys = await this.#untilAnswered("the cluster's bucket of minion keys", async () =>
      KeyReplica.open({
        clients: await this.#connect(),
        bucket: clusterNames(start.member.clusterId).keyBucket,
        replicas: this.#parts.start.member.replicas,
        pkiDir: config.pki_dir,
        recordFile: join(start.member.directory, "keys"),
        member: start.member.name,
        logger,
        onApplied: applyKeys,
        areKeysLost,
      }),
    );
    if (this.#ending.signal.aborted) return await this.#keys.close();
    await this.#openJobs();
    if (this.#ending.signal.aborted) return;
    this.#isInStep = true;
    await this.#followReturns(parts);
    if (this.#ending.signal.aborted) return await this.#returns?.close();
    this.minions.shareMinions(await this.#connect(), parts);
    await this.#shareTokens(parts);
    await this.#untilAnswered("the cluster's bucket of job leases", async () =>
      this.leases.open(await this.#connect(), parts),
    );
    if (this.#ending.signal.aborted) return await this.#tokens?.close();
    logger.info({ cluster: start.member.clusterId, member: start.member.name }, "joined the cluster");
  }

  async #openJobs(): Promise<void> {
    const { config, logger, start } = this.#parts;
    const { clusterId, name: member } = start.member;
    const jobs = await this.#untilAnswered("the cluster's sequence of jobs", async () =>
      JobStream.open({
        ...{
          connection: await this.#connect(),
          servers: serversOf(start.access),
          clusterId,
          member,
          replicas: this.#parts.start.member.replicas,
          logger,
        },
        placeFile: join(config.pki_dir, ".cluster-jobs"),
        waitMs: config.cluster_join_timeout * 1_000,
        take: this.sequence.take,
      }),
    );
    await this.sequence.use(jobs);
  }

  async #followReturns({ returns, metrics }: AttachParts): Promise<void> {
    const { logger, start } = this.#parts;
    const receiver = await this.#untilAnswered("the cluster's streams of returns", async () =>
      followMemberReturns({ ...returns, connection: await this.#connect(), member: start.member, logger }),
    );
    this.#returns = receiver;
    metrics.addSource((samples) => sampleMemberReturns(samples, receiver));
  }

  async #shareTokens({ tokens }: AttachParts): Promise<void> {
    const { start, logger } = this.#parts;
    const { tokenBucket: bucket } = clusterNames(start.member.clusterId);
    this.#tokens = await this.#untilAnswered("the cluster's bucket of tokens", async () =>
      TokenReplica.open({
        ...{
          clients: await this.#connect(),
          bucket,
          replicas: this.#parts.start.member.replicas,
          box: this.#box,
          tokens,
          logger,
        },
      }),
    );
  }

  async #takeIdentity(): Promise<void> {
    const { config, logger, start } = this.#parts;
    const { clusterId, name: member, peers, directory, operatorNats } = start.member;
    logger.info({ cluster: clusterId, member, peers: operatorNats?.servers ?? peers }, "waits for the cluster");
    const passphrase = config.key_pass ?? undefined;
    const accepted = openKeyDirectories(config.pki_dir);
    const waitMs = config.cluster_join_timeout * 1_000;
    const isTrusted = () => accepted.list("accepted").length > 0;
    const telling = new TrustedTeller(clusterId, member);
    const outcome = await retried(
      operatorNats === undefined
        ? `the cluster ${clusterId} (peers ${peers.join(", ")}; its own server's log is nats-server.log in ${directory})`
        : `the cluster ${clusterId} on NATS (${operatorNats.servers.join(", ")})`,
      waitMs,
      async () => {
        const { nats } = await this.#connect();
        if (isTrusted()) telling.tellOn(nats);
        return await shareIdentity({
          bucket: await this.#openBucket(),
          box: this.#box,
          member,
          mayGive: async () => {
            await this.#refuseIfLost();
            if (!isTrusted()) await demandNoneTrusted(nats, clusterId, this.#ending.signal);
          },
          present: () => presentMasterKeys(config.pki_dir, passphrase),
          make: () => ensureMasterKeys(config.pki_dir, config.keysize, "master", passphrase),
          isTrusted,
          take: (keys) => takeMasterKeys(config.pki_dir, keys, passphrase),
        });
      },
    ).finally(() => telling.close());
    logger.info({ cluster: clusterId, ...outcome }, "has the cluster's key pair");
    const keys = ensureMasterKeys(config.pki_dir, config.keysize, "master", passphrase);
    replaceDurably(markOf(start.member), markText(start.member, keys), 0o600);
  }

  /** A cluster that has minions' keys has a key pair, too. The members that run give it again, within `clusterLookMs`. */
  async #refuseIfLost(): Promise<void> {
    const { manager } = await this.#connect();
    try {
      const { state } = await manager.streams.info(`KV_${clusterNames(this.#parts.start.member.clusterId).keyBucket}`);
      if (state.last_seq === 0) return;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return;
      throw error;
    }
    throw new Error("the record of its key pair is lost, and a member that has it must give it again");
  }

  async #openBucket(): Promise<KV> {
    const { kvm } = await this.#connect();
    const { clusterId, replicas, operatorNats } = this.#parts.start.member;
    try {
      return await openOrFind(() => kvm.create(clusterNames(clusterId).secretBucket, { replicas, ...makerMark() }));
    } catch (error) {
      throw operatorNats === undefined ? error : explained(error);
    }
  }

  async #connect(): Promise<ClusterConnection> {
    const { start, config, logger } = this.#parts;
    if (this.#connection !== undefined) return this.#connection;
    const { signal } = this.#ending;
    const waitMs = config.cluster_join_timeout * 1_000;
    const connection = await connectCluster({ ...start.access, name: start.member.name, waitMs, signal });
    noteLoss(connection, signal, (error) => this.#noteLoss(error));
    if (start.member.operatorNats !== undefined) tellFaults(connection, logger);
    this.#connection = connection;
    return connection;
  }

  /** All parts of a running master hold the connection, so that a new one takes a new start. */
  #noteLoss(error: Error): void {
    this.#connection = undefined;
    if (this.#fail !== undefined) this.#fail(error);
    else this.#parts.logger.error({ err: error }, "connects to the cluster again");
  }

  /** Tries until the cluster answers or the master ends. */
  async #untilAnswered<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { logger, config } = this.#parts;
    const lookMs = config.cluster_join_timeout * 1_000;
    return await untilAnswered(what, lookMs, attempt, this.#ending.signal, (error) =>
      logger.warn({ err: error }, `${what} does not answer: this member goes on alone and tries again`),
    );
  }
}
