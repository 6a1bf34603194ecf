/** The running master: wires its parts to each other. Each part has its own file. */
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import { databaseStopMs, saltMirrorStopMs, storeCloseTimeoutMs } from "../limits.ts";
import type { PendingJobs } from "../store/jobs/pending-jobs.ts";
import type { KeyChange, KeyWatch } from "../store/keys/keys.ts";
import type { MasterSecrets } from "../store/secrets/secrets.ts";
import type { WorkerStart } from "../workers/messages/worker.ts";
import type { LanePool } from "../workers/threads/lane-pool.ts";
import type { Partitioner } from "../workers/threads/partition.ts";
import type { WorkerPool } from "../workers/threads/worker-pool.ts";
import { fileAnswersOf } from "./answers/files.ts";
import { MineAnswers } from "./answers/mines.ts";
import { peersOf } from "./answers/peers.ts";
import type { Audit } from "./audit/audit.ts";
import { type Batches, type BatchesParts, batchesOf } from "./batch-jobs/batches.ts";
import type { MemberParts } from "./cluster/member-returns.ts";
import type { MinionSharing } from "./cluster/minion-sharing.ts";
import { Jobs, type JobsParts, trackerOf } from "./jobs/jobs.ts";
import { clockSetText, storeLost } from "./log/fault-texts.ts";
import type { LogLimit } from "./log/log-limit.ts";
import { RefusedCounts } from "./log/refused-counts.ts";
import { gatherCounters } from "./metrics/counters.ts";
import { Metrics } from "./metrics/metrics.ts";
import type { MeteredParts } from "./metrics/sources.ts";
import { toJob } from "./operators/asked-job.ts";
import { type Authorisation, authorisationOf } from "./operators/authorisation.ts";
import { Commands } from "./operators/commands.ts";
import { type CredentialChecks, credentialChecksOf } from "./operators/credential-checks.ts";
import { explainFunctions } from "./operators/explain-target.ts";
import { reactionCommands } from "./operators/reaction-commands.ts";
import { runnerAsks } from "./operators/runner-asks.ts";
import { RunnerCalls } from "./operators/runner-calls.ts";
import { pillarsOf } from "./pillars/open.ts";
import type { Pillars } from "./pillars/pillars.ts";
import type { Bus } from "./ports/bus.ts";
import type { OpenedPorts } from "./ports/port-check.ts";
import type { PublishFront } from "./ports/publish-front.ts";
import type { Presence } from "./presence/presence.ts";
import { presenceOf } from "./presence/presence-ping.ts";
import { ownJob } from "./publish/own-job.ts";
import { type Fire, type Publisher, type PublisherOptions, publisherOf } from "./publish/publisher.ts";
import { Targets } from "./publish/targets.ts";
import { Reactor } from "./reactor/reactor.ts";
import { RequestPath } from "./requests/request-path.ts";
import { MasterSchedule } from "./schedule/schedule.ts";
import { finishWithin } from "./shutdown/deadline.ts";
import type { OpenSidecar } from "./sidecar/open.ts";
import { syndicsOf } from "./syndic/syndics.ts";
import { openPublishFront } from "./threads.ts";
import { Copies, type CopyLanes } from "./upkeep/copies.ts";
import type { GitUpdates } from "./upkeep/git-updates.ts";
import { KeyManagement } from "./upkeep/key-management.ts";
import { Maintenance } from "./upkeep/maintenance.ts";
import { SaltFiles, type SaltPlan } from "./upkeep/salt-files.ts";

type InCluster = Pick<PublisherOptions, "sequence"> & Pick<JobsParts, "leases"> & Pick<BatchesParts, "leases">;
export type MasterParts = InCluster & {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly logCounters: LogLimit["counters"];
  readonly openedPorts: OpenedPorts;
  readonly start: WorkerStart;
  readonly secrets: MasterSecrets;
  readonly bus: Bus;
  readonly pool: WorkerPool;
  readonly rsa: LanePool;
  readonly runners: LanePool;
  readonly pillars: LanePool;
  readonly sources: LanePool;
  readonly files: LanePool;
  readonly credentials: LanePool;
  readonly saltLane: LanePool;
  readonly reactions: LanePool;
  readonly copyLanes: CopyLanes;
  readonly saltPlan: SaltPlan;
  readonly partitioner: Partitioner;
  readonly pendingJobs: PendingJobs;
  readonly signMasterKey: (aes: string) => Promise<Uint8Array>;
  readonly audit: Audit | undefined;
  readonly apiRestarts: (() => number) | undefined;
  readonly sharing: MinionSharing | undefined;
  readonly gitUpdates: GitUpdates;
  readonly sidecar: OpenSidecar | undefined;
};

export class Master {
  readonly #parts: MasterParts;
  readonly #jobs: Jobs;
  readonly #presence: Presence;
  readonly #targets: Targets;
  readonly #publisher: Publisher;
  readonly #batches: Batches;
  readonly #commands: Commands;
  readonly #reactor: Reactor;
  readonly keyManagement: KeyManagement;
  readonly #pillars: Pillars;
  readonly #answers: Pick<MeteredParts, "pillars" | "mines" | "files" | "peers">;
  readonly #credentialChecks: CredentialChecks;
  readonly #authorisation: Authorisation;
  readonly #publishFront: PublishFront;
  readonly #requests: RequestPath;
  /** Set by `stop` if a thread other than the publish thread did not end in time. */
  #isThreadStuck = false;
  readonly #stopSteps: (() => unknown)[] = [];
  readonly #faultListeners: (() => void)[] = [];
  readonly #maintenance: Maintenance;
  readonly #saltFiles: SaltFiles;
  readonly #copies: Copies;
  readonly #metered: MeteredParts;
  readonly metrics: Metrics;
  fault: Error | undefined;

  private constructor(parts: MasterParts, publishFront: PublishFront) {
    this.#parts = parts;
    this.#publishFront = publishFront;
    this.#credentialChecks = credentialChecksOf(parts);
    const lookForNewKeys = () => this.keyManagement.lookForNew();
    this.#targets = new Targets({ ...parts, accepted: parts.start.accepted, lookForNewKeys });
    const publisher = publisherOf(parts, publishFront, this.#targets);
    const presence = presenceOf(parts, publisher);
    const syndics = syndicsOf(parts);
    const tracker = trackerOf(parts, publisher, presence, syndics);
    const ownerOf = (jid: string) => tracker.record(jid)?.user;
    const authorisation = authorisationOf(parts, this.#targets, this.#credentialChecks, ownerOf);
    [this.#publisher, this.#presence, this.#authorisation] = [publisher, presence, authorisation];
    this.#jobs = new Jobs({ ...parts, authorisation, tracker, publisher, presence, syndics });
    const jobParts = { publisher, jobs: this.#jobs, targets: this.#targets };
    const retcodes = (jid: string) => this.#commands.retcodes(jid);
    this.#batches = batchesOf(parts, { ...jobParts, tracker, readJob: toJob, retcodes });
    this.#pillars = pillarsOf(parts);
    const commands = this.#createCommands();
    [this.#commands, this.keyManagement] = [commands, this.#createKeyManagement()];
    this.#reactor = new Reactor(parts, reactionCommands(parts, commands));
    const schedule = new MasterSchedule(parts, reactionCommands(parts, commands, parts.config.user));
    this.onStop(() => [this.#reactor, schedule].map((part) => part.close()));
    this.#answers = {
      pillars: this.#pillars,
      mines: new MineAnswers(parts),
      files: fileAnswersOf(parts),
      peers: peersOf(parts, { ...jobParts, commands }),
    };
    this.#requests = new RequestPath(parts, {
      ...this.#answers,
      ...{ presence, jobs: this.#jobs, keyManagement: this.keyManagement, commands },
    });
    this.#maintenance = this.#createMaintenance();
    this.#saltFiles = new SaltFiles(parts.saltPlan, parts);
    this.#copies = new Copies(parts);
    this.#metered = this.#meteredParts();
    this.metrics = new Metrics(this.#metered, (error) =>
      parts.logger.warn({ err: error }, "a worker gave no measures"),
    );
  }

  /** Opens the ports, publish first, because a minion that gets an answer may subscribe at once. */
  static async open(parts: MasterParts): Promise<Master> {
    let opened: Master | undefined;
    const publishFront = await openPublishFront(parts, (error) => {
      if (opened !== undefined) opened.fail(error);
    });
    try {
      opened = new Master(parts, publishFront);
    } catch (error) {
      // The publish thread would keep the process alive although the master did not start.
      await publishFront.close();
      throw error;
    }
    const master = opened;
    parts.pool.onUnserved = (error) => master.fail(error);
    await master.#requests
      .open((error) => master.fail(error))
      .catch(async (error: Error) => {
        master.#presence.close();
        master.#maintenance.close();
        void master.#saltFiles.close();
        void master.#copies.close();
        master.metrics.close();
        await publishFront.close();
        throw error;
      });
    master.#batches.resume();
    return master;
  }

  get publishEndpoint(): string {
    return this.#publishFront.boundEndpoint;
  }

  /** Whether a thread hangs in a system call and so keeps the process from ending. */
  get hasStuckThread(): boolean {
    return this.#publishFront.isStuck || this.#isThreadStuck;
  }

  get memberParts(): MemberParts {
    return { ...this.#parts, jobs: this.#jobs, batches: this.#batches, tokens: this.#authorisation.tokens };
  }

  get requestEndpoint(): string {
    return this.#requests.front?.boundEndpoint ?? "";
  }

  dropSpareMemory(): void {
    this.#requests.batcher.memory.dropSpare();
  }

  useKeyWatch(watch: KeyWatch): void {
    this.keyManagement.useWatch(watch);
    this.onStop(() => watch.close());
  }

  /** Resolves when every worker has answered a message, after its present batch. `ports/publish/hang-watch.ts` watches the publish thread. */
  async answers(): Promise<void> {
    await this.#parts.pool.broadcast(() => ({ kind: "measures" }));
  }

  /** Drops the jobs that wait for a minion whose key was removed, and its cached pillar. */
  forgetHolder(id: string): void {
    this.#jobs.forgetHolder(id);
    void this.#pillars.forget(id);
  }

  applyKeyChange(change: KeyChange): void {
    this.keyManagement
      .apply(change)
      .catch((error: Error) => this.#parts.logger.error({ err: error }, "a key change could not be applied"));
  }

  onStop(step: () => unknown): void {
    this.#stopSteps.push(step);
  }

  onFault(listener: () => void): void {
    // The fault may have happened before the listener was added.
    if (this.fault !== undefined) listener();
    else this.#faultListeners.push(listener);
  }

  /** Stops reading requests, drains until the deadline, then closes all parts. Minions send unacknowledged returns again. */
  async stop(deadlineMs: number): Promise<void> {
    const { pool, rsa, runners, pillars, sources, files, credentials, saltLane, reactions, copyLanes } = this.#parts;
    const { bus, secrets, logger, gitUpdates, sidecar } = this.#parts;
    const within = (limitMs: number, step: Promise<unknown>, warning: string) =>
      finishWithin(limitMs, step, warning, logger);
    for (const part of [this.#maintenance, this.metrics]) part.close();
    const steps = [...this.#stopSteps, () => this.#commands.close(), () => this.#presence.close()];
    const ended = Promise.all(steps.map((step) => step()));
    const drained = within(deadlineMs, this.#requests.drain(), "requests were still under way at the deadline");
    await Promise.all([drained, within(storeCloseTimeoutMs, ended, "a part did not end in time")]);
    this.#batches.close();
    await within(storeCloseTimeoutMs, this.#jobs.close(), "jobs that wait for minions were not written in time");
    const storesClosed = pool.broadcast(() => ({ kind: "close" }));
    await within(storeCloseTimeoutMs, storesClosed, "a worker did not close its stores in time");
    const copied = this.#copies.close();
    await within(saltMirrorStopMs, this.#saltFiles.close(), "Salt's own files were not written in time");
    await within(databaseStopMs, copied, "a database did not answer in time");
    await this.#requests.close();
    await this.#publishFront.close();
    const lanes = [
      ...[rsa, runners, pillars, sources, files, credentials, saltLane, reactions, gitUpdates],
      ...[...Object.values(copyLanes), ...(sidecar ? [sidecar] : [])],
    ];
    const threadsEnded = Promise.all([pool, ...lanes].map((some) => some.close()));
    this.#isThreadStuck = !(await within(storeCloseTimeoutMs, threadsEnded, "a thread did not end in time"));
    await bus.close();
    secrets.close();
  }

  readonly fail = (error: Error): void => {
    this.#parts.logger.fatal({ err: error }, "the master cannot go on");
    this.fault = error;
    for (const listener of this.#faultListeners) listener();
  };

  #createCommands(): Commands {
    const { config, runners, bus, logger, audit, sidecar } = this.#parts;
    const { tracker } = this.#jobs;
    const authorisation = this.#authorisation;
    const untilCopied = () => this.#copies.jobShipping.untilCopied();
    const jobParts = { publisher: this.#publisher, tracker, jobs: this.#jobs, batches: this.#batches };
    const fire: Fire = (tag, data) => bus.fire(tag, data);
    const calls = new RunnerCalls(this.#parts);
    const asks = runnerAsks({
      ...this.#parts,
      ...jobParts,
      pillars: this.#pillars,
      authorisation,
      targets: this.#targets,
      ...{ calls, fire },
      fireForOperator: (tag, data) => bus.fireForOperator(tag, data),
      connected: () => this.#presence.connected(),
      counters: () => this.#gatherCounters(),
      copies: () => this.#copies,
      reactor: () => this.#reactor,
      user: config.user,
    });
    const direct = new Map([
      ...explainFunctions(this.#parts, this.#targets, this.#presence),
      ["saltworks.metrics", () => this.metrics.rows()],
    ]);
    const parts = { config, runners, sidecar: sidecar?.calls, untilCopied, logger, audit };
    return new Commands({ ...jobParts, ...parts, authorisation, calls, asks, fire, direct });
  }

  #createKeyManagement(): KeyManagement {
    const { config, logger, secrets, start, pool, bus, signMasterKey } = this.#parts;
    return new KeyManagement({
      secrets,
      accepted: start.accepted,
      graceMs: config.rotation_grace * 1_000,
      rotatesOnRemoval: config.rotate_aes_key,
      sessionMs: config.publish_session * 1_000,
      logger,
      signMasterKey,
      distributeKeys: async (keys) => {
        start.keys = keys;
        await pool.broadcast(() => ({ kind: "masterKeys", keys }));
      },
      distributeChange: async (change) => {
        const told = await pool.broadcastSettled<string[]>(() => ({ kind: "minionKeys", ...change }));
        const fault = told.find((answer) => answer.status === "rejected")?.reason;
        return { replaced: told.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : [])), fault };
      },
      onRemoved: (id) => {
        this.#presence.forget(id);
        this.forgetHolder(id);
      },
      fire: (tag, data) => bus.fire(tag, data),
      exclusively: (step) => this.#publisher.exclusively(step),
      onRotated: () => this.#pingAfterRotation(),
    });
  }

  /** `ping_on_rotate`: minions cannot decrypt this publish yet, so they fetch the new key before the first real job. */
  #pingAfterRotation(): void {
    const { config, logger } = this.#parts;
    if (!config.ping_on_rotate) return;
    const ping = this.#publisher.publish(ownJob("test.ping", [], "*", "glob", config.user));
    ping.catch((error: Error) => logger.warn({ err: error }, "ping after rotation failed"));
  }

  #createMaintenance(): Maintenance {
    const { config, logger, pool } = this.#parts;
    const refusedCounts = new RefusedCounts((refused) =>
      logger.warn({ refused }, "refused requests since the last look"),
    );
    return new Maintenance({
      intervalMs: config.loop_interval * 1_000,
      keepJobsMs: config.keep_jobs_seconds * 1_000,
      keep: { jobsMax: config.keep_jobs_count, bytesMax: config.keep_jobs_bytes },
      pool,
      rotateIfDue: () => this.keyManagement.rotateIfDue(),
      sweepTokens: (nowMs) => this.#commands.sweepTokens(nowMs),
      readFaults: async () => refusedCounts.note((await this.#gatherCounters()).workers),
      onFault: (error) => logger.error({ err: error }, "maintenance failed"),
      onClockSet: (stepMs) => logger.warn(clockSetText(stepMs)),
    });
  }

  #meteredParts(): MeteredParts {
    const { config, logCounters, start, bus, pool, rsa, runners, pillars: pillar, sources, audit } = this.#parts;
    const { files, credentials, saltLane, reactions, copyLanes, apiRestarts, gitUpdates, sidecar, sharing } =
      this.#parts;
    return {
      config,
      logCounters,
      accepted: start.accepted,
      requestFront: () => this.#requests.front,
      publishFront: this.#publishFront,
      ...{ pool, batcher: this.#requests.batcher, authResponder: this.#requests.authResponder },
      lanes: {
        rsa,
        runners,
        pillar,
        external: sources,
        file: files,
        eauth: credentials,
        salt: saltLane,
        reactor: reactions,
        ...{ ...copyLanes, ...sidecar?.lanes },
      },
      ...this.#answers,
      ...{ credentialChecks: this.#credentialChecks, tokens: this.#authorisation.tokens },
      ...{ bus, audit, publisher: this.#publisher },
      ...{ tracker: this.#jobs.tracker, deliveries: this.#jobs.deliveries, batches: this.#batches },
      ...{ keyManagement: this.keyManagement, presence: this.#presence },
      ...{ maintenance: this.#maintenance, saltFiles: this.#saltFiles, copies: this.#copies },
      ...{ reactor: this.#reactor, apiRestarts, gitUpdates, sidecar, sharing, commands: this.#commands },
    };
  }

  async #gatherCounters() {
    const { logger } = this.#parts;
    const onFault = (slot: number, fault: string) => logger.error({ slot, fault }, "a worker met a fault");
    const counters = await gatherCounters(this.#metered, onFault);
    const isLost = [counters.main, ...counters.workers].some((part) => (part["disk.lost"] ?? 0) > 0);
    if (isLost && this.fault === undefined) this.fail(storeLost());
    return counters;
  }
}
