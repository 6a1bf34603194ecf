/**
 * Keeps this member's key directories in step with the bucket of minion keys. The directories stay the truth on each member; the bucket decides when two
 * members differ. An id is compared whenever its files or its entry may have changed, and what is in step is left alone, so that nothing loops.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import { keysPerTurnMax, logItemsMax } from "../../limits.ts";
import type { KeyChange } from "../../store/keys/keys.ts";
import { type BucketClients, type BucketEntry, type BucketWrite, WatchedBucket } from "../watched-bucket.ts";
import { AppliedChanges } from "./applied.ts";
import { bucketKeyOf, digestOf, encodeEntry, idOfBucketKey, keyBucketForm, noKeys, statesIn } from "./entry.ts";
import { IgnoredKeys } from "./ignored.ts";
import { LocalKeys } from "./local-keys.ts";
import { KeyRecord } from "./record.ts";
import { absentSince, type Local, type Seen } from "./seen.ts";
import { KeySender } from "./sender.ts";
import { KeyTouches } from "./touches.ts";

export type KeyReplicaOptions = {
  readonly clients: BucketClients;
  /** The bucket's name, the same on all members. */
  readonly bucket: string;
  /** How many members keep a copy of the bucket. Used when it is made. */
  readonly replicas: number;
  readonly pkiDir: string;
  /** Where this member keeps what was last in step. */
  readonly recordFile: string;
  /** This member's name. No other member has it. */
  readonly member: string;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** Whether accepted keys of the record are missing because the disk was lost. They are not deleted elsewhere then. */
  readonly areKeysLost?: boolean;
  /** What other members changed in the accepted keys; the files are already written. Never asks for a rotation. */
  readonly onApplied: (change: KeyChange) => void;
};

/** Wait before a bucket that was lost is opened again. */
const restartMs = 2_000;
/** Of a key that is not of a minion, in the log. */
const keyCharactersShown = 64;

export class KeyReplica {
  /**
   * `conflicts`: changes made here that gave way to another member's. `ignored`: entries that are damaged or of a newer version, and files that are
   * empty or too large. `faults`: files that could not be read or written; the id is tried again.
   */
  readonly counters = { sent: 0, applied: 0, conflicts: 0, ignored: 0, putFailures: 0, faults: 0 };
  readonly #options: KeyReplicaOptions;
  readonly #local: LocalKeys;
  readonly #record: KeyRecord;
  readonly #sender: KeySender;
  readonly #applied: AppliedChanges;
  readonly #ignored: IgnoredKeys;
  readonly #seen = new Map<string, Seen>();
  /** Ids whose newest entry could not be read. Nothing is written over it. */
  readonly #unread = new Set<string>();
  /** Ids whose deletion was sent, and not confirmed. The mark names no member, so it is recognised by this. */
  readonly #removing = new Set<string>();
  /** Ids with a file that could not be used at the last look, such as one that was being written. */
  readonly #unusable = new Set<string>();
  /** The first ids with such a file and no entry: each is named once. */
  readonly #withheld = new Set<string>();
  #bucket: WatchedBucket | undefined;
  #touches: KeyTouches | undefined;
  /** Whether the record says what was in step before. Without one, an entry by this member proves nothing. */
  #hasRecord = false;
  #isCopied = false;
  #isClosed = false;
  #opening: Promise<void> = Promise.resolve();

  private constructor(options: KeyReplicaOptions) {
    this.#options = options;
    const { logger } = options;
    this.#local = new LocalKeys(options.pkiDir);
    this.#applied = new AppliedChanges(options.onApplied);
    this.#ignored = new IgnoredKeys(logger, this.counters);
    this.#record = new KeyRecord({
      file: options.recordFile,
      beforeSave: () => this.#local.sync(),
      onFault: (error) => logger.warn({ err: error }, "the record of keys in step could not be written"),
    });
    this.#sender = new KeySender({
      send: (id) => this.#send(id),
      sendMany: (ids) => this.#sendMany(ids),
      onFailing: (error, waiting) => {
        const about = "key changes made here cannot reach the other members now; they are kept, and sent again";
        logger.warn({ err: error, waiting }, about);
      },
      onRecovered: () => logger.info("key changes reach the other members again"),
    });
  }

  /**
   * Resolves when the directories hold what the bucket held at the start.
   * @throws SaltworksError CLUSTER_UNAVAILABLE; STORE_FAILED if the key directories cannot be listed
   */
  static async open(options: KeyReplicaOptions): Promise<KeyReplica> {
    const replica = new KeyReplica(options);
    try {
      await replica.#start();
    } catch (error) {
      await replica.close();
      throw error;
    }
    return replica;
  }

  /** Ids that may not be in step with the bucket. */
  get waitingCount(): number {
    return this.#sender.waitingCount + this.#seen.size;
  }

  /** Compares ids of a change at once. Changes of files are noticed without it, a moment later. */
  noteLocal(change: Pick<KeyChange, "added" | "removed" | "changed">): void {
    this.#compareAll([...change.added, ...change.removed, ...change.changed]);
  }

  /** Stops, and saves the record. Changes that were not sent are found at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#touches?.close();
    await this.#bucket?.close();
    await this.#sender.close();
    await this.#opening.catch(() => undefined);
    this.#applied.flush();
    await this.#record.close();
  }

  async #start(): Promise<void> {
    const { clients, bucket: name, replicas, pkiDir, logger } = this.#options;
    const bucket = await WatchedBucket.open(clients, name, { replicas, ...keyBucketForm });
    this.#bucket = bucket;
    this.#chooseRecord(bucket);
    this.#isCopied = false;
    const present = new Set<string>();
    await bucket.watch({
      onEntry: (entry) => this.#noteEntry(entry, present),
      onReplaced: () => this.#restart(),
      onFault: (error) => {
        if (!this.#isClosed) logger.warn({ err: error }, "the watch of the cluster's minion keys was interrupted");
      },
    });
    for (const id of this.#record.ids()) {
      if (present.has(id)) continue;
      const { revision, digest } = this.#record.step(id);
      if (digest === noKeys) this.#record.delete(id);
      else this.#seen.set(id, absentSince(revision));
    }
    // Watches from before the first comparison, so that no change falls between.
    this.#touches ??= new KeyTouches({
      pkiDir,
      present: () => this.#local.ids(),
      expected: () => this.#record.keptIds(),
      onTouched: (ids) => this.#compareAll(ids),
      onFault: (error) => logger.warn({ err: error }, "the key directories cannot be watched"),
    });
    const ids = new Set([...this.#local.ids(), ...this.#record.ids(), ...this.#seen.keys()]);
    this.#isCopied = true;
    this.#hasRecord = true;
    for (const [index, id] of [...ids].entries()) {
      if (this.#isClosed) return;
      this.#compare(id);
      if ((index + 1) % keysPerTurnMax === 0) await nextTurn();
    }
    // Only now: after a start that failed half-way, an absent file would count as deleted.
    this.#record.describe(bucket.identity);
  }

  /** Keeps the record if it describes this bucket and these directories. Otherwise both sides are united. */
  #chooseRecord(bucket: WatchedBucket): void {
    const [{ logger, recordFile, areKeysLost: areLost = false }, record] = [this.#options, this.#record];
    const areKeysLost = areLost || this.#local.isMissing || this.#local.ids().size === 0;
    const unfit = record.unfitFor(bucket.identity, bucket.lastRevision, areKeysLost);
    if (unfit !== undefined && unfit !== "new")
      logger.warn({ file: recordFile }, `${unfit}: keys of both sides are kept, and none is deleted`);
    this.#hasRecord = unfit === undefined;
    if (!this.#hasRecord) record.begin();
  }

  /** The bucket was deleted or made anew while this member runs: all starts again, and what is here is kept. */
  #restart(): void {
    if (this.#isClosed) return;
    this.#seen.clear();
    this.#unread.clear();
    this.#opening = this.#start().catch((error: unknown) => {
      if (this.#isClosed) return;
      this.#options.logger.error({ err: error }, "the cluster's minion keys cannot be opened again; tried again soon");
      setTimeout(() => this.#restart(), restartMs).unref();
    });
  }

  #noteEntry(entry: BucketEntry, present: Set<string>): void {
    const id = idOfBucketKey(entry.key);
    if (id === undefined) {
      this.#ignored.note(
        `key ${entry.key.slice(0, keyCharactersShown)}`,
        entry.revision,
        "its key is not of a minion's id",
      );
      return;
    }
    if (!this.#isCopied) present.add(id);
    if (entry.revision <= this.#record.step(id).revision) return;
    const seen = this.#ignored.read(id, entry);
    if (seen === undefined) {
      this.#unread.add(id);
      return;
    }
    this.#unread.delete(id);
    if (this.#isOwn(id, seen)) {
      // What this member sent came back. If its files have changed since, they are still to be sent.
      this.#noteInStep(id, seen);
      return;
    }
    this.#seen.set(id, seen);
    // A write under way ends soon, and looks at what was seen.
    if (this.#isCopied && !this.#sender.isUnderWay(id)) this.#compare(id);
  }

  #compareAll(ids: Iterable<string>): void {
    if (!this.#isCopied || this.#isClosed) return;
    for (const id of ids) this.#compare(id);
  }

  /** Applies a newer entry, or offers the id to the sender if its files have changed. */
  #compare(id: string): void {
    if (this.#sender.isUnderWay(id)) {
      this.#sender.offer(id);
      return;
    }
    try {
      const local = this.#readLocal(id);
      if (local === undefined) this.#sender.offerLater(id);
      else if (this.#settle(id, local) === "differs") this.#sender.offer(id);
    } catch (error) {
      this.#noteFault(id, error);
    }
  }

  #noteFault(id: string, error: unknown): void {
    this.counters.faults += 1;
    this.#options.logger.warn({ err: error, id }, "a minion's keys could not be brought into step; tried again");
    this.#sender.offerLater(id);
  }

  /** The id's files; undefined if they are to be read again later. */
  #readLocal(id: string): Local | undefined {
    const local = this.#local.read(id);
    if (local === undefined) return undefined;
    const isUnusable = local.unusable.length > 0;
    if (!isUnusable) this.#unusable.delete(id);
    else if (!this.#unusable.has(id)) {
      this.#unusable.add(id);
      return undefined;
    }
    return { keys: local.keys, digest: digestOf(local.keys), isUnusable };
  }

  /** Brings the id into step with the entry that was seen, if there is a newer one. @returns whether its files then differ from the bucket */
  #settle(id: string, local: Local): "in step" | "differs" {
    if (this.#unread.has(id)) return "in step";
    const step = this.#record.step(id);
    const seen = this.#seen.get(id);
    if (seen === undefined || seen.revision <= step.revision) {
      this.#seen.delete(id);
      return local.digest === step.digest ? "in step" : "differs";
    }
    if (seen.digest === local.digest) {
      this.#noteInStep(id, seen);
      return "in step";
    }
    const isUnchanged = local.digest === step.digest || local.isUnusable;
    if (!isUnchanged) this.#noteConflict(id, local, seen);
    this.#apply(id, local, seen);
    return "in step";
  }

  #isOwn(id: string, seen: Seen): boolean {
    if (!this.#hasRecord) return false;
    return seen.digest === noKeys ? this.#removing.has(id) : seen.by === this.#options.member;
  }

  #noteConflict(id: string, local: Local, seen: Seen): void {
    this.counters.conflicts += 1;
    const about = { id, here: statesIn(local.keys), there: statesIn(seen.keys), member: seen.by };
    this.#options.logger.warn(about, "a minion's key was changed here and on another member: the other's holds");
  }

  #apply(id: string, local: Local, seen: Pick<Seen, "revision" | "digest" | "keys" | "isAbsent">): void {
    this.#local.replace(id, local.keys, seen.keys);
    this.counters.applied += 1;
    this.#noteInStep(id, seen);
    this.#applied.note(id, local.keys.accepted, seen.keys.accepted);
  }

  #noteInStep(id: string, { revision, digest, isAbsent }: Pick<Seen, "revision" | "digest" | "isAbsent">): void {
    this.#seen.delete(id);
    this.#removing.delete(id);
    if (isAbsent) this.#record.delete(id);
    else this.#record.set(id, { revision, digest });
  }

  /** The sender's turn of an id: its files are read anew. */
  async #send(id: string): Promise<"sent" | "nothing" | "later"> {
    const bucket = this.#bucket;
    const write = this.#prepare(id);
    if (write === "unusable" && bucket !== undefined) return this.#restore(bucket, id);
    if (typeof write === "string" || bucket === undefined) return write === "nothing" ? "nothing" : "later";
    let revision = await this.#counted(bucket.put(write));
    // The bucket drops old marks of deletions, and then has nothing of the id.
    if (revision === undefined && this.#record.step(id).digest === noKeys && write.revision > 0)
      revision = await this.#counted(bucket.put({ ...write, revision: 0 }));
    if (bucket !== this.#bucket) return "later";
    const seenRevision = this.#seen.get(id)?.revision ?? 0;
    if (seenRevision > (revision ?? write.revision)) this.#sender.offer(id);
    // Without the newer entry here: it is on its way by the watch, and decides.
    if (revision === undefined) return seenRevision > write.revision ? "nothing" : "later";
    this.counters.sent += 1;
    if (revision > this.#record.step(id).revision) this.#record.set(id, { revision, digest: write.digest });
    if (seenRevision <= revision) this.#seen.delete(id);
    this.#removing.delete(id);
    return "sent";
  }

  /** As `#send`, in one batch. Its entries come back by the watch, which brings their ids into step. */
  async #sendMany(ids: readonly string[]): Promise<readonly string[]> {
    const bucket = this.#bucket;
    if (bucket === undefined) return ids;
    const writes: (BucketWrite & { readonly id: string })[] = [];
    const alone: string[] = [];
    for (const [index, id] of ids.entries()) {
      const write = this.#prepare(id);
      if (typeof write !== "string") writes.push({ ...write, id });
      else if (write !== "nothing") alone.push(id);
      if ((index + 1) % keysPerTurnMax === 0) await nextTurn();
    }
    if (writes.length === 0) return alone;
    if (!(await this.#counted(bucket.putAll(writes)))) return ids;
    this.counters.sent += writes.length;
    for (const { id } of writes) if (this.#seen.has(id)) this.#sender.offer(id);
    return alone;
  }

  async #counted<Result>(put: Promise<Result>): Promise<Result> {
    try {
      return await put;
    } catch (error) {
      this.counters.putFailures += 1;
      throw error;
    }
  }

  /** What is to be written of an id whose files differ from the bucket. */
  #prepare(id: string): (BucketWrite & { readonly digest: string }) | "nothing" | "later" | "unusable" {
    try {
      const local = this.#readLocal(id);
      if (local === undefined) return "later";
      if (this.#settle(id, local) === "in step") return "nothing";
      if (local.isUnusable) return "unusable";
      const { keys, digest } = local;
      const { revision } = this.#record.step(id);
      const key = bucketKeyOf(id);
      if (digest !== noKeys)
        return { key, value: encodeEntry({ id, by: this.#options.member, keys }), revision, digest };
      if (this.#local.isMissing) return "later";
      this.#removing.add(id);
      return { key, value: undefined, revision, digest };
    } catch (error) {
      this.#noteFault(id, error);
      return "later";
    }
  }

  /** Writes the bucket's keys over files that cannot be used. Without an entry they stay, and are named. */
  async #restore(bucket: WatchedBucket, id: string): Promise<"nothing" | "later"> {
    const step = this.#record.step(id);
    const value = step.digest === noKeys ? undefined : await bucket.valueAt(step.revision);
    const seen = value === undefined ? undefined : this.#ignored.read(id, { revision: step.revision, value });
    const local = this.#readLocal(id);
    if (local === undefined || !local.isUnusable) return "later";
    if (seen !== undefined) {
      this.#options.logger.warn(
        { id },
        "a minion's key file was empty or too large: the cluster's is written in its place",
      );
      this.#apply(id, local, seen);
    } else if (!this.#withheld.has(id) && this.#withheld.size < logItemsMax) {
      this.#withheld.add(id);
      this.#ignored.note(`keys of ${id} here`, 0, "a file is empty or too large");
    }
    return "nothing";
  }
}
