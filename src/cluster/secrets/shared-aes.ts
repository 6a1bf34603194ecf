/**
 * The AES key that seals publications, shared by all members: one member rotates, the others follow. It lies sealed in the bucket `secrets` and changes
 * by compare-and-set only, so that of two rotations at the same time one wins on every member.
 */
import { createHash } from "node:crypto";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import type { KV, KvWatchEntry } from "@nats-io/kv";
import type { QueuedIterator } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { clusterLookMs } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { PresentKeys } from "../../store/secrets/secrets.ts";
import { isConflict } from "../conflict.ts";
import { openRecord, sealRecord } from "./record.ts";

const recordName = "aes";
/** A removed key makes every member rotate. This soon after another member's rotation, by this member's clock, it was for the same removal. */
const sameCauseMsMax = 5_000;
const conflictTriesMax = 10;
/** Former keys that a member tells from new ones. */
const formerKeysMax = 64;

type AesRecord = PresentKeys & { readonly by: string };
type Known = { readonly revision: number; readonly record: AesRecord };

export type SharedAesOptions = {
  readonly bucket: KV;
  readonly box: SecretBox;
  readonly member: string;
  /** A record that does not open: this member goes on with the key it has. */
  readonly onFault: (error: Error) => void;
  /**
   * The bucket is gone or was made anew. What was known of its revisions is worth nothing, and this object is closed: the records are to be given again
   * by those who have them.
   */
  readonly onLost: () => void;
  /** From when on this member gives its own key if there is none, by `performance.now()`. Before that, `open` fails and is tried again. */
  readonly giveFromMs?: number;
  /** Between two looks at the bucket. Tests use less. */
  readonly lookMs?: number;
};

export class SharedAes {
  readonly counters = { rotations: 0, followed: 0, conflicts: 0 };
  readonly #options: SharedAesOptions;
  #known: Known;
  /** When the latest change of another member came, by `performance.now()`. */
  #followedMs = Number.NEGATIVE_INFINITY;
  #watch: QueuedIterator<KvWatchEntry> | undefined;
  /** When the bucket was made: it differs for one that was made anew. */
  readonly #created: string;
  #look: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Digests of former keys. The set keeps their order. */
  readonly #former = new Set<string>();

  /** Whether this member gave the key, because there was none. */
  readonly isGiven: boolean;

  private constructor(options: SharedAesOptions, known: Known, created: string, isGiven: boolean) {
    this.#options = options;
    this.#known = known;
    this.#created = created;
    this.isGiven = isGiven;
  }

  /** Reads the cluster's key. The first member gives `own`. @throws SaltworksError CLUSTER_REFUSED, or what NATS throws */
  static async open(options: SharedAesOptions, own: PresentKeys): Promise<SharedAes> {
    const { bucket, box, member, giveFromMs = 0 } = options;
    const created = (await bucket.status()).streamInfo.created;
    for (let tries = 0; tries < conflictTriesMax; tries += 1) {
      const known = await read(options);
      if (known !== undefined) return new SharedAes(options, known, created, false);
      if (performance.now() < giveFromMs) throw new Error("it is not recorded; a member that has it gives it again");
      const record = { ...own, by: member };
      try {
        const revision = await bucket.create(recordName, sealRecord(box, recordName, record));
        return new SharedAes(options, { revision, record }, created, true);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    throw new SaltworksError("CLUSTER_UNAVAILABLE", "the cluster's AES key cannot be read: members disagree about it");
  }

  get keys(): PresentKeys {
    const { aes, former, createdMs } = this.#known.record;
    return { aes, former, createdMs };
  }

  /** Makes `next` the cluster's key. @returns the cluster's keys, which are another member's if that one rotated at the same time */
  async rotate(next: PresentKeys): Promise<PresentKeys> {
    if (performance.now() - this.#followedMs < sameCauseMsMax) return this.keys;
    const { bucket, box, member } = this.#options;
    const record = { ...next, by: member };
    try {
      const sealed = sealRecord(box, recordName, record);
      const revision = await bucket.put(recordName, sealed, { previousSeq: this.#known.revision });
      this.#retire(record);
      this.#known = { revision, record };
      this.counters.rotations += 1;
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.counters.conflicts += 1;
      const known = await read(this.#options);
      // A read may come from a server that is behind.
      if (known === undefined || !this.#note(known))
        throw new SaltworksError(
          "CLUSTER_UNAVAILABLE",
          "another member rotates the AES key, and its new key is not known yet",
        );
    }
    return this.keys;
  }

  /** Calls `onChange` when another member has rotated. */
  async follow(onChange: (keys: PresentKeys) => void): Promise<void> {
    const watch = await this.#options.bucket.watch({ key: recordName });
    this.#watch = watch;
    const consume = async () => {
      for await (const entry of watch) {
        try {
          if (entry.operation === "PUT" && this.#note(opened(this.#options, entry))) onChange(this.keys);
        } catch (error) {
          this.#options.onFault(error as Error);
        }
      }
    };
    consume().catch(this.#options.onFault);
    if (this.#isClosed) this.close();
    else this.#look = setInterval(() => void this.#lookAfter(), this.#options.lookMs ?? clusterLookMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#look);
    this.#watch?.stop();
  }

  async #lookAfter(): Promise<void> {
    try {
      const { streamInfo } = await this.#options.bucket.status();
      if (streamInfo.created === this.#created) return;
    } catch (error) {
      // Without an answer nothing is known. The servers are looked at elsewhere.
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) return;
    }
    if (this.#isClosed) return;
    this.close();
    this.#options.onLost();
  }

  /** The present key becomes a former one. */
  #retire(next: AesRecord): void {
    const { aes } = this.#known.record;
    if (aes === next.aes) return;
    this.#former.add(digestOf(aes));
    const [oldest] = this.#former;
    if (oldest !== undefined && this.#former.size > formerKeysMax) this.#former.delete(oldest);
  }

  /**
   * @returns whether another member made it the key
   * @throws SaltworksError CLUSTER_REFUSED for a former key: no member goes back to one, which the holder of a removed key may know
   */
  #note(known: Known): boolean {
    if (known.revision <= this.#known.revision) return false;
    if (this.#former.has(digestOf(known.record.aes))) {
      // The next rotation replaces this revision.
      this.#known = { ...this.#known, revision: known.revision };
      throw new SaltworksError(
        "CLUSTER_REFUSED",
        "a former AES key was put back into the cluster's record: not followed",
      );
    }
    const isNew = known.record.aes !== this.#known.record.aes;
    this.#retire(known.record);
    this.#known = known;
    if (!isNew || known.record.by === this.#options.member) return false;
    this.#followedMs = performance.now();
    this.counters.followed += 1;
    return true;
  }
}

function digestOf(aes: string): string {
  return createHash("sha256").update(aes).digest("base64");
}

async function read(options: SharedAesOptions): Promise<Known | undefined> {
  const entry = await options.bucket.get(recordName);
  return entry === null || entry.operation !== "PUT" ? undefined : opened(options, entry);
}

function opened(
  { box }: SharedAesOptions,
  { value, revision }: { readonly value: Uint8Array; readonly revision: number },
): Known {
  return { revision, record: openRecord<AesRecord>(box, recordName, value) };
}
