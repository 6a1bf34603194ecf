/**
 * Who goes on with the cluster's batch jobs and with its jobs that wait for absent minions: one member at a time, by a lease that it renews. Made before
 * the master's parts, so that they can hold it, and opened when the cluster answers. docs/decisions/0049-job-leases.md.
 */
import type { Logger } from "pino";
import type { ClusterConnection } from "../../../cluster/connection.ts";
import { type Appeared, OwnerAsks, type OwnerQuestion } from "../../../cluster/leases/asks.ts";
import { LeaseBucket } from "../../../cluster/leases/bucket.ts";
import { MemberLeases } from "../../../cluster/leases/member-leases.ts";
import { type LeaseKey, type Owner, openLease } from "../../../cluster/leases/record.ts";
import type { JobOwner } from "../../../cluster/likeness/message.ts";
import { clusterNames } from "../../../cluster/names.ts";
import { OtherVersions } from "../../../cluster/other-version.ts";
import { within } from "../../../deadline.ts";
import { SaltworksError } from "../../../errors.ts";
import { appearedGatherMs, appearedIdsMax, jobHandOverMs, jobLeaseLookMs } from "../../../limits.ts";
import { batchDirectory } from "../../../store/jobs/batch-log.ts";
import type { PendingJobs } from "../../../store/jobs/pending-jobs.ts";
import type { SecretBox } from "../../../store/secrets/sealed.ts";
import type { Deliveries } from "../../jobs/deliveries.ts";
import type { DeliverySharing } from "../../jobs/delivery-effects.ts";
import type { Samples } from "../../metrics/samples.ts";
import { bootMs } from "../../upkeep/clock-step.ts";
import { BatchCopies, type RunBatches } from "./batch-copies.ts";
import { type KeptDeliveries, WaitingJobs } from "./waiting-jobs.ts";

/** The master's parts whose jobs have an owner. */
export type OwnedJobs = {
  readonly batches: RunBatches;
  readonly jobs: { readonly deliveries: KeptDeliveries & Pick<Deliveries, "cancel" | "noteAppearance"> };
};

export type JobLeasesOptions = {
  readonly clusterId: string;
  /** This member's name. */
  readonly member: string;
  readonly replicas: number;
  /** Whether it is on an operator's own NATS. */
  readonly isOperatorNats: boolean;
  readonly box: SecretBox;
  readonly logger: Logger;
  readonly cachedir: string;
  /** Tests use less. */
  readonly times?: { readonly leaseMs: number; readonly marginMs: number; readonly renewMs: number };
};

export class JobLeases {
  readonly leases: MemberLeases;
  readonly batches: BatchCopies;
  readonly waiting: WaitingJobs;
  readonly #options: JobLeasesOptions;
  #bucket: LeaseBucket | undefined;
  #asks: OwnerAsks | undefined;
  #owned: OwnedJobs | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Minions that came back, which are told together. Bounded by the accepted minions. */
  readonly #appeared: Readonly<Record<Appeared["how"], Set<string>>> = {
    ...{ start: new Set(), auth: new Set(), contact: new Set() },
  };
  #appearedTimer: NodeJS.Timeout | undefined;
  #isReleased = false;
  /** Whether there is something to hand over, and a cluster that takes it. */
  #isHandingOver = false;

  constructor(options: JobLeasesOptions) {
    this.#options = options;
    const { member, box, logger, clusterId, cachedir, times } = options;
    this.leases = new MemberLeases({
      ...{ member, box, ...(times && { times }) },
      now: bootMs,
      put: async (write) => await this.#opened().putSealed(write),
      onGained: () => {
        logger.info("this member may own the cluster's batch jobs and waiting jobs");
        this.#look();
      },
      onLapsed: () => this.#lapse(),
      onFault: (error) => this.#bucket?.noteFault(error),
    });
    const common = { clusterId, logger, leases: this.leases, bucket: () => this.#bucket };
    const ask = async (owner: Owner, question: OwnerQuestion) => await this.#ask(owner, question);
    this.batches = new BatchCopies({ ...common, ask, directory: batchDirectory(cachedir) });
    this.waiting = new WaitingJobs({ ...common, demand: () => this.demand() });
  }

  readonly deliveries: DeliverySharing = {
    appeared: (id, how) => this.#noteAppeared(id, how),
    cancel: async (jid, minion) => {
      const owner = this.waiting.ownerOf(jid) ?? this.leases.self;
      return (await this.#ask(owner, { kind: "cancel", jid, minion })) as string[] | undefined;
    },
  };

  /** The store of waiting jobs, shared with the other members. */
  share(store: PendingJobs): PendingJobs {
    return this.waiting.share(store);
  }

  /** The members, and how many jobs each owns, as this one sees them. */
  owners(): JobOwner[] {
    const holders = this.leases.holders();
    const [batch, waiting] = [countsOf(this.batches.owners()), countsOf(this.waiting.owners())];
    const members = new Set([...holders.keys(), ...batch.keys(), ...waiting.keys()]);
    return [...members].sort().map((member) => ({
      ...{ member, holdsLease: holders.get(member) ?? null },
      ...{ batchJobs: batch.get(member) ?? 0, waitingJobs: waiting.get(member) ?? 0 },
    }));
  }

  /** Questions about its jobs that this member refused, by reason. */
  get refusedQuestions(): OwnerAsks["refused"] | undefined {
    return this.#asks?.refused;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE unless this member may act for the jobs that it owns */
  readonly demand = (): void => {
    if (this.leases.holds) return;
    const why = this.#bucket === undefined ? "has not joined its cluster yet" : "has no lease: too few members answer";
    throw new SaltworksError("CLUSTER_UNAVAILABLE", `this member ${why}, so it goes on with no job of its own`);
  };

  /** Reads the cluster's jobs, and takes part. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async open(
    { nats, jetstream, manager, kvm }: ClusterConnection,
    { fail, ...owned }: OwnedJobs & { readonly fail: (error: Error) => void },
  ): Promise<void> {
    if (this.#bucket !== undefined || this.#isReleased) return;
    const { clusterId, replicas, box, logger, isOperatorNats } = this.#options;
    const { leaseBucket, ownerSubject: subject } = clusterNames(clusterId);
    this.#owned = owned;
    this.batches.use(owned.batches);
    this.waiting.use(owned.jobs.deliveries);
    const bucket = await LeaseBucket.open({
      ...{ clients: { jetstream, manager, kvm }, bucket: leaseBucket, replicas, box, logger },
      onEntry: (key, revision, value) => this.#note(key, revision, value),
      // This member's parts know the old one, so that the new one takes a new start.
      onLost: (error) => {
        logger.error({ err: error }, "the cluster's job leases are lost");
        if (!this.#isReleased) fail(error);
      },
    });
    await bucket.watch();
    this.#bucket = bucket;
    if (this.#isReleased) return;
    this.batches.noteCopied();
    this.waiting.noteCopied(bucket.identity);
    const otherVersions = new OtherVersions(logger);
    this.#asks = new OwnerAsks({
      ...{ nats, subject, self: this.leases.self, isOperatorNats, box },
      answer: (question) => this.#answer(question),
      onAppeared: ({ ids, how }) => {
        for (const id of ids) owned.jobs.deliveries.noteAppearance(id, how, true);
      },
      onFault: (err) => {
        if (!otherVersions.note("told", err)) logger.warn({ err }, "another member's message cannot be read");
      },
    });
    await this.leases.start();
    this.#timer = setInterval(() => this.#look(), jobLeaseLookMs).unref();
  }

  /** This member does not act any more. What is under way is finished by `close`. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#isHandingOver = this.leases.holds;
    clearInterval(this.#timer);
    clearTimeout(this.#appearedTimer);
    this.leases.release();
    this.waiting.releaseAll();
  }

  /** Hands the jobs over: the other members may go on with them at once. */
  async close(): Promise<void> {
    this.release();
    this.#asks?.close();
    if (!this.#isHandingOver) this.batches.abort();
    await within(this.batches.finish(), jobHandOverMs, () =>
      this.#options.logger.warn("batch jobs are handed over, and the cluster lacks the end of their logs"),
    );
    this.batches.abort();
    if (this.#isHandingOver) await within(this.leases.end(), jobHandOverMs, () => undefined);
    await this.#bucket?.close();
  }

  #opened(): LeaseBucket {
    if (this.#bucket !== undefined) return this.#bucket;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", "this member has not joined its cluster yet");
  }

  #note(key: LeaseKey, revision: number, value: Uint8Array | undefined): void {
    const { box } = this.#options;
    if (key.kind === "lease") {
      this.leases.note(key.member, revision, value);
      // One that ended in order is replaced at once.
      this.#look();
    } else if (key.kind === "part") {
      if (value !== undefined) this.batches.note(key.jid, key.number, openLease(box, key, value));
    } else if (key.kind === "record") this.waiting.noteRecord(key.jid, revision, value && openLease(box, key, value));
    else this.waiting.noteState(key.jid, revision, value && openLease(box, key, value));
  }

  #look(): void {
    if (this.#isReleased || this.#bucket === undefined) return;
    this.batches.look();
    this.waiting.look();
  }

  #lapse(): void {
    this.#options.logger.warn(
      "this member's lease has ended: its batch jobs and waiting jobs rest, or another member goes on",
    );
    this.batches.releaseAll();
    this.waiting.releaseAll();
  }

  async #ask(owner: Owner, question: OwnerQuestion): Promise<unknown> {
    if (this.#asks === undefined || owner.member === this.#options.member) throw moving(question.jid);
    return await this.#asks.ask(owner, question);
  }

  async #answer(question: OwnerQuestion): Promise<unknown> {
    const { batches, jobs } = this.#owned ?? {};
    const { jid } = question;
    if (batches === undefined || jobs === undefined) throw moving(jid);
    if (question.kind === "control") {
      if (!batches.isRunning(jid)) throw moving(jid);
      return await batches.control(question.action, jid, question.user);
    }
    if (jobs.deliveries.job(jid)?.isActive === false) throw moving(jid);
    return await jobs.deliveries.cancel(jid, question.minion);
  }

  #noteAppeared(id: string, how: Appeared["how"]): void {
    this.#appeared[how].add(id);
    this.#appearedTimer ??= setTimeout(() => {
      this.#appearedTimer = undefined;
      for (const one of ["start", "auth", "contact"] as const) {
        const ids = [...this.#appeared[one]];
        this.#appeared[one].clear();
        for (let at = 0; at < ids.length; at += appearedIdsMax)
          this.#asks?.tell({ how: one, ids: ids.slice(at, at + appearedIdsMax) });
      }
    }, appearedGatherMs).unref();
  }
}

function moving(jid: string): SaltworksError {
  return new SaltworksError("CLUSTER_UNAVAILABLE", `the job ${jid} has no owner at present: try again in some seconds`);
}

/** How many jobs each member owns. */
function countsOf(owners: readonly Owner[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { member } of owners) counts.set(member, (counts.get(member) ?? 0) + 1);
  return counts;
}

export function sampleLeases(samples: Samples, jobLeases: JobLeases): void {
  const { leases, batches, waiting, refusedQuestions } = jobLeases;
  samples.set("saltworks_cluster_job_lease", {}, leases.holds ? 1 : 0);
  const { renewed, unconfirmed, lapsed } = leases.counters;
  for (const [what, count] of Object.entries({ renewed, unconfirmed, lapsed }))
    samples.set("saltworks_cluster_job_leases_total", { what }, count);
  for (const [kind, { taken, lost, broken = 0, tooLarge = 0, putBack }] of Object.entries({
    batch: { tooLarge: 0, ...batches.counters },
    waiting: { broken: 0, ...waiting.counters },
  }))
    for (const [what, count] of Object.entries({ taken, lost, broken, too_large: tooLarge, put_back: putBack }))
      samples.set("saltworks_cluster_owned_jobs_total", { kind, what }, count);
  for (const [reason, count] of Object.entries(refusedQuestions ?? {}))
    samples.set("saltworks_cluster_owner_questions_refused_total", { reason }, count);
  for (const { member, holdsLease, batchJobs, waitingJobs } of jobLeases.owners()) {
    if (holdsLease !== null) samples.set("saltworks_cluster_member_lease", { member }, holdsLease ? 1 : 0);
    samples.set("saltworks_cluster_member_jobs", { member, kind: "batch" }, batchJobs);
    samples.set("saltworks_cluster_member_jobs", { member, kind: "waiting" }, waitingJobs);
  }
  const { repaired, givenUp } = batches.repairs;
  for (const [what, count] of Object.entries({ repaired, given_up: givenUp }))
    samples.set("saltworks_cluster_owned_jobs_total", { kind: "batch", what }, count);
}
