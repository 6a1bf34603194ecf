/** The bucket of leases and of the jobs that have an owner: sealed entries, written by compare-and-set only and read by a watch. */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { jobLeaseFaultLogMs, ownedEntryBytesMax, ownedMarkKeptMs } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { OtherVersions } from "../other-version.ts";
import { type BucketClients, type BucketWrite, WatchedBucket } from "../watched-bucket.ts";
import { type LeaseKey, leaseKeyText, openLease, partsOf, readLeaseKey, sealLease } from "./record.ts";

const lost =
  "the cluster's bucket of job leases was deleted while this master ran: it ends, and gives its waiting jobs to a new bucket after its next start";

export type LeaseBucketOptions = {
  readonly clients: BucketClients;
  readonly bucket: string;
  readonly replicas: number;
  readonly box: SecretBox;
  readonly logger: Pick<Logger, "warn" | "error">;
  /** `value`: sealed, valid until the call returns; undefined if the entry was removed. */
  readonly onEntry: (key: LeaseKey, revision: number, value: Uint8Array | undefined) => void;
  /** It was deleted, or made anew, while it was watched. */
  readonly onLost: (error: SaltworksError) => void;
};

export class LeaseBucket {
  readonly #options: LeaseBucketOptions;
  readonly #bucket: WatchedBucket;
  readonly #otherVersions: OtherVersions;
  #mayLogMs = 0;
  #isUnknownTold = false;

  private constructor(options: LeaseBucketOptions, bucket: WatchedBucket) {
    this.#options = options;
    this.#bucket = bucket;
    this.#otherVersions = new OtherVersions(options.logger);
  }

  /** Opens the bucket, or makes it if the cluster has none. @throws SaltworksError CLUSTER_UNAVAILABLE */
  static async open(options: LeaseBucketOptions): Promise<LeaseBucket> {
    const { clients, bucket: name, replicas } = options;
    const form = { what: "job leases", valueBytesMax: ownedEntryBytesMax, endMarkMs: ownedMarkKeptMs };
    return new LeaseBucket(options, await WatchedBucket.open(clients, name, { replicas, ...form }));
  }

  /** It differs for a bucket that was made anew. */
  get identity(): string {
    return this.#bucket.identity;
  }

  /** Resolves when all present entries are read. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async watch(): Promise<void> {
    const { onEntry, onLost, logger } = this.#options;
    await this.#bucket.watch({
      onEntry: ({ key: text, revision, value }) => {
        const key = readLeaseKey(text);
        if (key === undefined) return this.#noteUnknown(text);
        try {
          onEntry(key, revision, value);
        } catch (error) {
          if (this.#otherVersions.note(key.kind, error)) return;
          logger.error({ err: error, key: text }, "a record of the cluster's jobs cannot be taken");
        }
      },
      onReplaced: () => onLost(new SaltworksError("CLUSTER_UNAVAILABLE", lost)),
      onFault: (error) => this.noteFault(error),
    });
  }

  /** @returns the new revision; undefined if another one is the newest. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async put(
    key: LeaseKey,
    content: object | undefined,
    rest: Pick<BucketWrite, "revision" | "lifeMs">,
  ): Promise<number | undefined> {
    const value = content && sealLease(this.#options.box, key, content);
    return await this.#bucket.put({ key: leaseKeyText(key), value, ...rest });
  }

  /** Writes what is sealed already. */
  async putSealed(write: BucketWrite): Promise<number | undefined> {
    return await this.#bucket.put(write);
  }

  /** @returns undefined if there is a newer revision. @throws SaltworksError CLUSTER_UNAVAILABLE, CLUSTER_REFUSED */
  async valueAt<Content extends object>(key: LeaseKey, revision: number): Promise<Content | undefined> {
    const value = await this.#bucket.valueAt(revision);
    return value && openLease<Content>(this.#options.box, key, value);
  }

  /** The newest value of a key, as the leader has it; undefined without one. @throws SaltworksError CLUSTER_UNAVAILABLE, CLUSTER_REFUSED */
  async read<Content extends object>(key: LeaseKey): Promise<Content | undefined> {
    const value = await this.#bucket.newestOf(leaseKeyText(key));
    return value && openLease<Content>(this.#options.box, key, value);
  }

  /** Removes the parts of a batch job's log for good. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async removeParts(jid: string): Promise<void> {
    await this.#bucket.purge(`${partsOf(jid)}>`);
  }

  /** Logs one fault in `jobLeaseFaultLogMs`, because each renewal meets the same. */
  noteFault(error: unknown): void {
    const nowMs = performance.now();
    if (nowMs < this.#mayLogMs) return;
    this.#mayLogMs = nowMs + jobLeaseFaultLogMs;
    this.#options.logger.warn({ err: error }, "the cluster's job leases do not answer now: tries again");
  }

  async close(): Promise<void> {
    await this.#bucket.close();
  }

  #noteUnknown(key: string): void {
    if (this.#isUnknownTold) return;
    this.#isUnknownTold = true;
    this.#options.logger.warn({ key }, "the cluster's jobs have records of a kind that this release does not know");
  }
}
