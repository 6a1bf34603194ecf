/**
 * The cluster's jobs that wait for absent minions. Each member keeps all of them, and notes returns by itself. One of them owns a job and sends it; it
 * writes the tries into the cluster before it sends. docs/decisions/0049-job-leases.md.
 */
import type { Logger } from "pino";
import type { LeaseBucket } from "../../../cluster/leases/bucket.ts";
import type { MemberLeases } from "../../../cluster/leases/member-leases.ts";
import {
  isSameOwner,
  type LeaseKey,
  type Owner,
  type StateContent,
  type WaitingContent,
} from "../../../cluster/leases/record.ts";
import { SaltworksError } from "../../../errors.ts";
import {
  jobClaimsUnderWayMax,
  jobLeaseMarginMs,
  logItemsMax,
  ownedEntryBytesMax,
  ownedMarkKeptMs,
} from "../../../limits.ts";
import {
  clusterField,
  type PendingJobRecord,
  type PendingJobs,
  packPendingJob,
  unpackPendingJob,
} from "../../../store/jobs/pending-jobs.ts";
import type { Deliveries } from "../../jobs/deliveries.ts";
import { marksToShare, type PendingJob } from "../../jobs/pending-job.ts";
import { inTurn, newWaitingEntry, type WaitingEntry } from "./waiting-entry.ts";

export type WaitingJobsOptions = {
  readonly leases: MemberLeases;
  readonly bucket: () => Pick<LeaseBucket, "put" | "valueAt" | "noteFault"> | undefined;
  readonly demand: () => void;
  readonly logger: Logger;
  /** A steady clock. */
  readonly now?: () => number;
};

export type KeptDeliveries = Pick<Deliveries, "job" | "jobs" | "adopt" | "takeOver" | "dropOver">;

export class WaitingJobs {
  /** `tooLarge`: jobs that stay with this member because of their size. `putBack`: over, and in the cluster again. */
  readonly counters = { taken: 0, lost: 0, tooLarge: 0, putBack: 0 };
  readonly #options: WaitingJobsOptions;
  readonly #entries = new Map<string, WaitingEntry>();
  /** Jobs that are being claimed, given or removed. */
  readonly #underWay = new Set<string>();
  readonly #now: () => number;
  /** Jobs that were refused to their client, and of which the bucket may have something. */
  readonly #unwanted = new Set<string>();
  #deliveries: KeptDeliveries | undefined;
  /** Jobs that are kept here and that the bucket never had. */
  readonly #ungiven = new Set<string>();
  /** Which bucket it is. Undefined until its entries are read. */
  #identity: string | undefined;
  #store: PendingJobs | undefined;

  constructor(options: WaitingJobsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  use(deliveries: KeptDeliveries): void {
    this.#deliveries = deliveries;
  }

  /** The store of a member: what it holds of jobs that it owns, the cluster has, too. */
  share(store: PendingJobs): PendingJobs {
    this.#store = store;
    return {
      all: () => store.all(),
      put: async (record) => {
        if (this.#deliveries?.job(record.jid)?.isActive === false) await store.put(this.#marked(record));
        else await this.#giveNew(store, record);
      },
      putMarks: async (jid, marks) => {
        await store.putMarks(jid, marks);
        await this.#giveMarks(jid);
      },
      remove: async (jid) => {
        await this.#takeAway(jid);
        await store.remove(jid);
      },
      close: () => store.close(),
    };
  }

  noteRecord(jid: string, revision: number, content: WaitingContent | undefined): void {
    const entry = this.#entryOf(jid);
    if (revision <= entry.record) return;
    entry.record = revision;
    if (content === undefined) {
      entry.overMs = this.#now();
      if (this.#isShared(jid)) this.#later(this.#deliveries?.dropOver(jid));
      return;
    }
    const record = unpackPendingJob(jid, Buffer.from(content.packed));
    if (entry.overMs !== undefined && entry.publishedMs === record.publishedMs) {
      this.counters.putBack += 1;
      this.#options.logger.warn(
        { jid },
        "a waiting job that is over was put back into the cluster's records: left alone",
      );
      return;
    }
    entry.overMs = undefined;
    entry.publishedMs = record.publishedMs;
    entry.endsMs = record.deadlineMs;
    entry.seenMs = this.#now();
    const known = this.#deliveries?.job(jid)?.record;
    if (this.#unwanted.has(jid)) return;
    if (known?.publishedMs !== record.publishedMs) this.#later(this.#adopt(record, entry));
  }

  noteState(jid: string, revision: number, content: StateContent | undefined): void {
    const entry = this.#entryOf(jid);
    if (revision <= entry.state) return;
    entry.state = revision;
    if (content === undefined) {
      if (entry.record === 0) entry.overMs = this.#now();
      return;
    }
    const { self } = this.#options.leases;
    entry.owner = content.owner;
    entry.marks = content.marks;
    const job = this.#deliveries?.job(jid);
    if (job === undefined) return;
    job.merge(content.marks);
    if (isSameOwner(content.owner, self) || !job.isActive) return;
    this.counters.lost += 1;
    job.isActive = false;
  }

  /**
   * All entries that were there at the start are read. A job that was in this bucket and is not any more is over. Jobs of the time before the cluster, or of
   * a bucket that was lost, are given to it.
   */
  noteCopied(identity: string): void {
    this.#identity = identity;
    const over: string[] = [];
    for (const { jid, record } of this.#deliveries?.jobs() ?? []) {
      const isMarked = record.fields.get(clusterField) === identity;
      if (this.#isShared(jid)) {
        if (!isMarked && this.#entries.get(jid)?.overMs === undefined)
          this.#later(this.#store?.put(this.#marked(record)));
      } else if (isMarked) over.push(jid);
      else this.#ungiven.add(jid);
    }
    if (over.length === 0) return;
    const about = { count: over.length, jids: over.slice(0, logItemsMax) };
    this.#options.logger.warn(about, "waiting jobs that the cluster has no more are over: this member drops them");
    for (const jid of over) this.#later(this.#deliveries?.dropOver(jid));
  }

  /** Takes over the jobs whose owner's lease has ended, and its own ones that rest. */
  look(): void {
    if (this.#identity === undefined || !this.#options.leases.holds) return;
    const nowMs = this.#now();
    for (const jid of this.#unwanted) if (!this.#begin(jid, () => this.#removeUnwanted(jid))) return;
    for (const jid of this.#ungiven) if (!this.#begin(jid, () => this.#giveKept(jid))) return;
    for (const [jid, entry] of this.#entries) {
      if (entry.overMs !== undefined) {
        if (nowMs - entry.overMs > ownedMarkKeptMs) this.#entries.delete(jid);
      } else if (this.#mayClaim(jid, entry, nowMs) && !this.#begin(jid, () => this.#claim(jid, entry))) return;
    }
  }

  /** This member must not act any more. */
  releaseAll(): void {
    for (const job of this.#deliveries?.jobs() ?? []) if (this.#isShared(job.jid)) job.isActive = false;
  }

  /** The owner of a job that another member owns. */
  ownerOf(jid: string): Owner | undefined {
    return this.#entries.get(jid)?.owner;
  }

  /** Of each job that the cluster has. */
  owners(): readonly Owner[] {
    const kept = [...this.#entries.values()].filter(({ record, overMs }) => record > 0 && overMs === undefined);
    return kept.flatMap(({ owner }) => owner ?? []);
  }

  #isShared(jid: string): boolean {
    return (this.#entries.get(jid)?.record ?? 0) > 0;
  }

  #mayClaim(jid: string, { record, owner, seenMs }: WaitingEntry, nowMs: number): boolean {
    if (record === 0 || this.#deliveries?.job(jid)?.isActive === true) return false;
    // Its member died before it wrote the owner, as an earlier release could.
    if (owner === undefined) return nowMs - seenMs > jobLeaseMarginMs;
    return isSameOwner(owner, this.#options.leases.self) || this.#options.leases.hasLapsed(owner);
  }

  /** @returns false if `jobClaimsUnderWayMax` jobs are under way; the next look tries again */
  #begin(jid: string, step: () => Promise<void>): boolean {
    if (this.#underWay.has(jid)) return true;
    if (this.#underWay.size >= jobClaimsUnderWayMax) return false;
    this.#underWay.add(jid);
    void step()
      .catch((error: Error) => this.#options.bucket()?.noteFault(error))
      .finally(() => this.#underWay.delete(jid));
    return true;
  }

  #entryOf(jid: string): WaitingEntry {
    const known = this.#entries.get(jid);
    if (known !== undefined) return known;
    const entry = newWaitingEntry();
    this.#entries.set(jid, entry);
    return entry;
  }

  #marked(record: PendingJobRecord, identity = this.#identity ?? ""): PendingJobRecord {
    return { ...record, fields: new Map([...record.fields, [clusterField, identity]]) };
  }

  /** Another member may be first. Its entry then comes by the watch. */
  async #giveKept(jid: string): Promise<void> {
    const job = this.#deliveries?.job(jid);
    const store = this.#store;
    if (job !== undefined && store !== undefined) await this.#giveJob(store, job);
    this.#ungiven.delete(jid);
    const owner = this.#isShared(jid) ? this.#entries.get(jid)?.owner : this.#options.leases.self;
    if (job === undefined || owner === undefined || !isSameOwner(owner, this.#options.leases.self)) return;
    if (this.#deliveries?.job(jid) === job) await this.#deliveries.takeOver(job);
  }

  /** What is on disk here counts as a job of this bucket when the bucket has it, and not before. */
  async #giveJob(store: PendingJobs, job: PendingJob): Promise<void> {
    const { jid, publishedMs } = job.record;
    const record = { ...job.record, fields: new Map([...job.record.fields].filter(([name]) => name !== clusterField)) };
    if (!this.#isShared(jid) && this.#staysHere(record)) {
      await store.put(record);
      return;
    }
    if (!this.#isShared(jid)) {
      // A master that stops before the cluster has the job does not send it at its start, and gives it again.
      await store.put(this.#marked(record, ""));
      await this.#give(record, job.marks);
    }
    const present = this.#deliveries?.job(jid);
    if (present === job) await store.put(this.#marked(record));
    // It ended here while it was given. Another job may have its id.
    else if (present === undefined || present.record.publishedMs === publishedMs) this.#unwanted.add(jid);
  }

  /** On disk here and in the cluster before it is published. A job that is refused to its client must not run later. */
  async #giveNew(store: PendingJobs, record: PendingJobRecord): Promise<void> {
    if (this.#staysHere(record)) return await store.put(record);
    this.#options.demand();
    this.#unwanted.delete(record.jid);
    try {
      await store.put(this.#marked(record));
      await this.#give(record, new Uint8Array(record.minions.length));
    } catch (error) {
      this.#unwanted.add(record.jid);
      await store.remove(record.jid);
      throw error;
    }
  }

  async #adopt(record: PendingJobRecord, entry: WaitingEntry): Promise<void> {
    if (record.deadlineMs <= Date.now()) return;
    const marks = new Uint8Array(record.minions.length);
    marks.set(entry.marks.subarray(0, marks.length));
    await this.#deliveries?.adopt({ record: this.#marked(record), marks });
  }

  #staysHere(record: PendingJobRecord): boolean {
    const bytes = packPendingJob(record).byteLength;
    if (bytes + record.minions.length <= ownedEntryBytesMax) return false;
    this.counters.tooLarge += 1;
    const about = "a waiting job is too large for the cluster: it stays here";
    this.#options.logger.warn({ jid: record.jid, bytes }, about);
    return true;
  }

  /** The state is first: a record always has an owner, and a state without a record means nothing. */
  async #give(record: PendingJobRecord, marks: Uint8Array): Promise<void> {
    const { jid } = record;
    const entry = this.#entryOf(jid);
    await inTurn(entry, async () => {
      this.#options.demand();
      entry.endsMs = record.deadlineMs;
      entry.publishedMs = record.publishedMs;
      entry.overMs = undefined;
      await this.#putState(jid, entry, marksToShare(marks));
      const content: WaitingContent = { packed: packPendingJob(record) };
      entry.record = Math.max(entry.record, await this.#put({ kind: "record", jid }, content, entry, entry.record));
    });
  }

  /** Returns alone are not told: each member has them. */
  async #giveMarks(jid: string): Promise<void> {
    const entry = this.#entries.get(jid);
    if (entry === undefined || !this.#isShared(jid)) return;
    entry.nextMarks ??= inTurn(entry, async () => {
      entry.nextMarks = undefined;
      const job = this.#deliveries?.job(jid);
      if (job?.isActive !== true || entry.overMs !== undefined) return;
      const shared = marksToShare(job.marks);
      if (Buffer.compare(shared, entry.marks) === 0) return;
      this.#options.demand();
      await this.#putState(jid, entry, shared);
    });
    await entry.nextMarks;
  }

  async #takeAway(jid: string): Promise<void> {
    const entry = this.#entries.get(jid);
    const job = this.#deliveries?.job(jid);
    if (entry === undefined || !this.#isShared(jid) || job?.isActive !== true) return;
    await inTurn(entry, async () => {
      this.#options.demand();
      if (!job.isActive) throw changed();
      await this.#delete(jid, entry);
    });
  }

  /** The record is first, because a record without a state would get an owner. A record that is still on its way is refused then. */
  async #delete(jid: string, entry: WaitingEntry): Promise<void> {
    for (const kind of ["record", "state"] as const) {
      if (kind === "state" && entry.state === 0) continue;
      entry[kind] = Math.max(entry[kind], await this.#put({ kind, jid }, undefined, entry, entry[kind]));
    }
    entry.overMs = this.#now();
  }

  async #removeUnwanted(jid: string): Promise<void> {
    const entry = this.#entryOf(jid);
    await inTurn(entry, async () => {
      if (this.#unwanted.has(jid)) await this.#delete(jid, entry);
    });
    if (!this.#unwanted.delete(jid)) return;
    await this.#deliveries?.dropOver(jid);
  }

  async #claim(jid: string, entry: WaitingEntry): Promise<void> {
    const { leases, logger } = this.#options;
    const { state, owner } = entry;
    if (this.#deliveries?.job(jid) === undefined) await this.#fetch(jid, entry);
    await inTurn(entry, async () => {
      // Who may claim was decided by this revision.
      if (entry.state !== state) throw changed();
      await this.#putState(jid, entry, marksToShare(this.#deliveries?.job(jid)?.marks ?? entry.marks));
    });
    if (owner === undefined || !isSameOwner(owner, leases.self)) this.counters.taken += 1;
    const job = this.#deliveries?.job(jid);
    if (job === undefined) await inTurn(entry, () => this.#delete(jid, entry));
    else if (leases.holds && isSameOwner(entry.owner ?? leases.self, leases.self)) {
      logger.info({ jid, waiting: job.leftCount }, "goes on with a job that waits for absent minions");
      await this.#deliveries?.takeOver(job);
    }
  }

  /** A job that has ended here and not for its owner. The job cache says who has returned. */
  async #fetch(jid: string, entry: WaitingEntry): Promise<void> {
    const content = await this.#options.bucket()?.valueAt<WaitingContent>({ kind: "record", jid }, entry.record);
    if (content !== undefined) await this.#adopt(unpackPendingJob(jid, Buffer.from(content.packed)), entry);
  }

  async #putState(jid: string, entry: WaitingEntry, marks: Uint8Array): Promise<void> {
    const content: StateContent = { owner: this.#options.leases.self, marks };
    const revision = await this.#put({ kind: "state", jid }, content, entry, entry.state);
    // The watch may have brought a later one.
    if (revision < entry.state) return;
    entry.state = revision;
    entry.owner = content.owner;
    entry.marks = marks;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE if another revision is the newest, or the cluster does not answer */
  async #put(key: LeaseKey, content: object | undefined, entry: WaitingEntry, revision: number): Promise<number> {
    const leftMs = entry.endsMs === Number.POSITIVE_INFINITY ? 0 : Math.max(0, entry.endsMs - Date.now());
    const lifeMs = content === undefined ? ownedMarkKeptMs : leftMs + ownedMarkKeptMs;
    const written = await this.#options.bucket()?.put(key, content, { revision, lifeMs });
    if (written !== undefined) return written;
    throw changed();
  }

  #later(step: Promise<void> | undefined): void {
    step?.catch((error: Error) =>
      this.#options.logger.error({ err: error }, "a waiting job of the cluster met a fault"),
    );
  }
}

function changed(): SaltworksError {
  return new SaltworksError("CLUSTER_UNAVAILABLE", "another member has changed a waiting job: this one tries again");
}
