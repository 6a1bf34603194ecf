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
import { jobClaimsUnderWayMax, ownedEntryBytesMax, ownedMarkKeptMs } from "../../../limits.ts";
import {
  clusterField,
  type PendingJobRecord,
  type PendingJobs,
  packPendingJob,
  unpackPendingJob,
} from "../../../store/jobs/pending-jobs.ts";
import type { Deliveries } from "../../jobs/deliveries.ts";
import { marksToShare } from "../../jobs/pending-job.ts";

/** A job in the bucket. Revisions are 0 until they are known. */
type Entry = {
  record: number;
  state: number;
  owner: Owner | undefined;
  /** As the bucket has them. */
  marks: Uint8Array;
  /** Since when the job is over, by the steady clock. */
  overMs: number | undefined;
  /** How long the bucket keeps it. */
  endsMs: number;
  /** When the job was published; 0 until it is known. It tells a job that is over from another one with its id. */
  publishedMs: number;
};

export type WaitingJobsOptions = {
  readonly leases: MemberLeases;
  readonly bucket: () => Pick<LeaseBucket, "put" | "valueAt" | "noteFault"> | undefined;
  readonly demand: () => void;
  readonly logger: Logger;
};

export type KeptDeliveries = Pick<Deliveries, "job" | "jobs" | "adopt" | "takeOver" | "dropOver">;

export class WaitingJobs {
  /** `tooLarge`: jobs that stay with this member because of their size. */
  readonly counters = { taken: 0, lost: 0, tooLarge: 0 };
  readonly #options: WaitingJobsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #claiming = new Set<string>();
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
        await this.#giveMarks(jid, marks);
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
      entry.overMs = performance.now();
      if (this.#isShared(jid)) this.#later(this.#deliveries?.dropOver(jid));
      return;
    }
    const record = unpackPendingJob(jid, Buffer.from(content.packed));
    if (entry.overMs !== undefined && entry.publishedMs === record.publishedMs) {
      this.#options.logger.warn(
        { jid },
        "a waiting job that is over was put back into the cluster's records: left alone",
      );
      return;
    }
    entry.overMs = undefined;
    entry.publishedMs = record.publishedMs;
    entry.endsMs = record.deadlineMs;
    const known = this.#deliveries?.job(jid)?.record;
    if (known?.publishedMs !== record.publishedMs) this.#later(this.#adopt(record, entry));
  }

  noteState(jid: string, revision: number, content: StateContent | undefined): void {
    const entry = this.#entryOf(jid);
    if (revision <= entry.state) return;
    entry.state = revision;
    if (content === undefined) return;
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
    for (const { jid, record } of this.#deliveries?.jobs() ?? []) {
      if ((this.#entries.get(jid)?.record ?? 0) > 0) continue;
      if (record.fields.get(clusterField) === identity) this.#later(this.#deliveries?.dropOver(jid));
      else this.#ungiven.add(jid);
    }
  }

  /** Takes over the jobs whose owner's lease has ended, and its own ones that rest. */
  look(): void {
    const { leases } = this.#options;
    if (this.#identity === undefined || !leases.holds) return;
    const nowMs = performance.now();
    const ungiven = [...this.#ungiven];
    this.#ungiven.clear();
    for (const jid of ungiven) this.#later(this.#giveKept(jid));
    for (const [jid, entry] of this.#entries) {
      if (this.#claiming.size >= jobClaimsUnderWayMax) return;
      if (entry.overMs !== undefined) {
        if (nowMs - entry.overMs > ownedMarkKeptMs) this.#entries.delete(jid);
        continue;
      }
      if (this.#unwanted.has(jid)) this.#later(this.#removeUnwanted(jid));
      else if (entry.owner === undefined || this.#deliveries?.job(jid)?.isActive === true) continue;
      else if (isSameOwner(entry.owner, leases.self) || leases.hasLapsed(entry.owner)) void this.#claim(jid, entry);
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

  #isShared(jid: string): boolean {
    return (this.#entries.get(jid)?.record ?? 0) > 0;
  }

  #entryOf(jid: string): Entry {
    const known = this.#entries.get(jid);
    if (known !== undefined) return known;
    const entry: Entry = {
      ...{ record: 0, state: 0, owner: undefined, marks: new Uint8Array(0), overMs: undefined },
      endsMs: Number.POSITIVE_INFINITY,
      publishedMs: 0,
    };
    this.#entries.set(jid, entry);
    return entry;
  }

  #marked(record: PendingJobRecord): PendingJobRecord {
    return { ...record, fields: new Map([...record.fields, [clusterField, this.#identity ?? ""]]) };
  }

  /** Another member may be first. Its entry then comes by the watch. */
  async #giveKept(jid: string): Promise<void> {
    const job = this.#deliveries?.job(jid);
    const store = this.#store;
    if (job === undefined || store === undefined || this.#isShared(jid)) return;
    const fields = new Map([...job.record.fields].filter(([name]) => name !== clusterField));
    try {
      await this.#give(store, { ...job.record, fields }, job.marks);
      await this.#deliveries?.takeOver(job);
    } catch (error) {
      this.#options.bucket()?.noteFault(error);
      if (!this.#isShared(jid)) this.#ungiven.add(jid);
    }
  }

  /** A job that is refused to its client must not run later. */
  async #giveNew(store: PendingJobs, record: PendingJobRecord): Promise<void> {
    try {
      await this.#give(store, record);
    } catch (error) {
      this.#unwanted.add(record.jid);
      await store.remove(record.jid);
      throw error;
    }
  }

  async #adopt(record: PendingJobRecord, entry: Entry): Promise<void> {
    if (record.deadlineMs <= Date.now()) return;
    const marks = new Uint8Array(record.minions.length);
    marks.set(entry.marks.subarray(0, marks.length));
    await this.#deliveries?.adopt({ record: this.#marked(record), marks });
  }

  /** On disk here and in the cluster before it is published. */
  async #give(
    store: PendingJobs,
    record: PendingJobRecord,
    marks: Uint8Array = new Uint8Array(record.minions.length),
  ): Promise<void> {
    const { jid } = record;
    const packed = packPendingJob(record);
    if (packed.byteLength + record.minions.length > ownedEntryBytesMax) {
      this.counters.tooLarge += 1;
      this.#options.logger.warn(
        { jid, bytes: packed.byteLength },
        "a waiting job is too large for the cluster: it stays here",
      );
      await store.put(record);
      return;
    }
    this.#options.demand();
    await store.put(this.#marked(record));
    const entry = this.#entryOf(jid);
    entry.endsMs = record.deadlineMs;
    entry.publishedMs = record.publishedMs;
    entry.overMs = undefined;
    const content: WaitingContent = { packed };
    entry.record = Math.max(entry.record, await this.#put({ kind: "record", jid }, content, entry, entry.record));
    await this.#putState(jid, entry, marksToShare(marks));
    this.#unwanted.delete(jid);
  }

  /** Returns alone are not told: each member has them. */
  async #giveMarks(jid: string, marks: Uint8Array): Promise<void> {
    const entry = this.#entries.get(jid);
    if (entry === undefined || this.#deliveries?.job(jid)?.isActive !== true) return;
    const shared = marksToShare(marks);
    if (Buffer.compare(shared, entry.marks) === 0) return;
    this.#options.demand();
    await this.#putState(jid, entry, shared);
  }

  async #takeAway(jid: string): Promise<void> {
    const entry = this.#entries.get(jid);
    if (entry === undefined || this.#deliveries?.job(jid)?.isActive !== true) return;
    this.#options.demand();
    await this.#delete(jid, entry);
  }

  async #delete(jid: string, entry: Entry): Promise<void> {
    for (const kind of ["state", "record"] as const) {
      if (entry[kind] === 0) continue;
      entry[kind] = Math.max(entry[kind], await this.#put({ kind, jid }, undefined, entry, entry[kind]));
    }
    entry.overMs = performance.now();
  }

  async #removeUnwanted(jid: string): Promise<void> {
    await this.#delete(jid, this.#entryOf(jid));
    this.#unwanted.delete(jid);
  }

  async #claim(jid: string, entry: Entry): Promise<void> {
    const { leases, bucket, logger } = this.#options;
    if (this.#claiming.has(jid)) return;
    this.#claiming.add(jid);
    const isTaken = !isSameOwner(entry.owner ?? leases.self, leases.self);
    try {
      if (this.#deliveries?.job(jid) === undefined) await this.#fetch(jid, entry);
      const job = this.#deliveries?.job(jid);
      await this.#putState(jid, entry, marksToShare(job?.marks ?? entry.marks));
      if (isTaken) this.counters.taken += 1;
      if (job === undefined) await this.#delete(jid, entry);
      else if (leases.holds && isSameOwner(entry.owner ?? leases.self, leases.self)) {
        logger.info({ jid, waiting: job.leftCount }, "goes on with a job that waits for absent minions");
        await this.#deliveries?.takeOver(job);
      }
    } catch (error) {
      bucket()?.noteFault(error);
    } finally {
      this.#claiming.delete(jid);
    }
  }

  /** A job that has ended here and not for its owner. The job cache says who has returned. */
  async #fetch(jid: string, entry: Entry): Promise<void> {
    const content = await this.#options.bucket()?.valueAt<WaitingContent>({ kind: "record", jid }, entry.record);
    if (content !== undefined) await this.#adopt(unpackPendingJob(jid, Buffer.from(content.packed)), entry);
  }

  async #putState(jid: string, entry: Entry, marks: Uint8Array): Promise<void> {
    const content: StateContent = { owner: this.#options.leases.self, marks };
    const revision = await this.#put({ kind: "state", jid }, content, entry, entry.state);
    // The watch may have brought a later one.
    if (revision < entry.state) return;
    entry.state = revision;
    entry.owner = content.owner;
    entry.marks = marks;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE if another revision is the newest, or the cluster does not answer */
  async #put(key: LeaseKey, content: object | undefined, entry: Entry, revision: number): Promise<number> {
    const leftMs = entry.endsMs === Number.POSITIVE_INFINITY ? 0 : Math.max(0, entry.endsMs - Date.now());
    const lifeMs = content === undefined ? ownedMarkKeptMs : leftMs + ownedMarkKeptMs;
    const written = await this.#options.bucket()?.put(key, content, { revision, lifeMs });
    if (written !== undefined) return written;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", "another member has changed a waiting job: this one tries again");
  }

  #later(step: Promise<void> | undefined): void {
    step?.catch((error: Error) =>
      this.#options.logger.error({ err: error }, "a waiting job of the cluster met a fault"),
    );
  }
}
