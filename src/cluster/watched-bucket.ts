/**
 * A key-value bucket that is watched, of minion keys, tokens or job leases: compare-and-set writes, and a watch that delivers each newest entry in order,
 * also after the server was away. The watch is the only reader, because a plain read may be answered by a follower that is behind.
 */
import {
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type OrderedConsumerOptions,
  type StreamInfo,
} from "@nats-io/jetstream";
import type { Kvm } from "@nats-io/kv";
import { headers, type MsgHdrs } from "@nats-io/nats-core";
import { within } from "../deadline.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { keyBucketAnswerMs, keyMarkKeptMs, keyPutTimeoutMs, keyRescanMs } from "../limits.ts";
import { isConflict } from "./conflict.ts";
import { newestSequence } from "./newest-sequence.ts";
import { type RecordSeal, sealRoomBytes } from "./record-seal.ts";
import { identityOf, makerMark, openOrFind } from "./stream-identity.ts";

const operationHeader = "KV-Operation";
const markReasonHeader = "Nats-Marker-Reason";
const timeToLiveHeader = "Nats-TTL";
const expectedRevisionHeader = "Nats-Expected-Last-Subject-Sequence";
/** A pull for entries ends after this time. It is also the wait after which the client asks again for a consumer that the server lost. */
const pullMs = 2_000;
const entriesPerPull = 500;
/** Wait before a watch that ended is opened again, milliseconds. */
const reopenMs = 500;
/** From this status on an error is a state of the server, not an answer to the request. */
const serverFault = 500;

export type BucketClients = {
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly kvm: Kvm;
  readonly seal?: RecordSeal | undefined;
};
/** `value`: a view, valid until the call returns; undefined if the key was deleted. */
export type BucketEntry = { readonly key: string; readonly revision: number; readonly value: Uint8Array | undefined };
/** `value`: undefined for a deletion. `revision`: the newest of the key as it is known here; 0 for a key without one. */
export type BucketWrite = {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly revision: number;
  /** How long the bucket keeps the value, or the mark of its deletion, milliseconds; without it until it is deleted, or `keyMarkKeptMs`. */
  readonly lifeMs?: number;
};
/** `what`: what it holds, for messages. `valueBytesMax`: of one entry. `endMarkMs`: how long the bucket keeps the mark of a value that has ended. */
export type BucketOptions = {
  readonly replicas: number;
  readonly what: string;
  readonly valueBytesMax: number;
  readonly endMarkMs: number;
};
export type BucketWatcher = {
  readonly onEntry: (entry: BucketEntry) => void;
  /** The bucket was deleted and made anew while it was watched. The watch has ended. */
  readonly onReplaced: () => void;
  /** The watch could not be opened again, or the bucket did not answer. It is tried again. */
  readonly onFault: (error: unknown) => void;
};

export class WatchedBucket {
  readonly #clients: BucketClients;
  readonly #name: string;
  /** When the bucket was made: it differs for a bucket of the same name that was made anew. */
  readonly identity: string;
  /** The highest revision at the time of opening. */
  readonly lastRevision: number;
  readonly #hasBatches: boolean;
  #seenRevision = 0;
  #messages: ConsumerMessages | undefined;
  #check: NodeJS.Timeout | undefined;
  #reopen: NodeJS.Timeout | undefined;
  #isBehind = false;
  #isClosed = false;

  private constructor(clients: BucketClients, name: string, info: StreamInfo) {
    this.#clients = clients;
    this.#name = name;
    this.identity = identityOf(info);
    this.lastRevision = info.state.last_seq;
    this.#hasBatches = info.config.allow_atomic === true;
  }

  /** Opens the bucket; makes it with `replicas` copies if there is none. @throws SaltworksError CLUSTER_UNAVAILABLE */
  static async open(clients: BucketClients, name: string, options: BucketOptions): Promise<WatchedBucket> {
    const { replicas, what, valueBytesMax, endMarkMs } = options;
    const maxValueSize = valueBytesMax + (clients.seal === undefined ? 0 : sealRoomBytes);
    const form = { history: 1, replicas, maxValueSize, markerTTL: endMarkMs };
    try {
      const opening = openOrFind(() => clients.kvm.create(name, { ...form, ...makerMark() }));
      await within(opening, keyBucketAnswerMs, () => {
        throw new Error("no answer in time");
      });
      return new WatchedBucket(clients, name, await withBatches(clients.manager, streamOf(name)));
    } catch (cause) {
      throw unavailable(`the bucket of ${what} cannot be opened`, cause);
    }
  }

  /**
   * Writes an entry if its revision is still the newest of the key.
   *
   * @returns the new revision; undefined if another one is the newest
   * @throws SaltworksError CLUSTER_UNAVAILABLE: the entry may have been written, or may still be
   */
  async put(write: BucketWrite): Promise<number | undefined> {
    try {
      const options = { headers: headOf(write), timeout: keyPutTimeoutMs };
      return (await this.#clients.jetstream.publish(this.#subjectOf(write.key), this.#sealed(write), options)).seq;
    } catch (cause) {
      if (isConflict(cause)) return undefined;
      throw unavailable("an entry was not confirmed", cause);
    }
  }

  /**
   * As `put`, for several keys as one: all or none.
   *
   * @returns false if none is written, because of another revision or because the server has no batches
   * @throws SaltworksError CLUSTER_UNAVAILABLE: they may have been written, or may still be
   */
  async putAll(writes: readonly BucketWrite[]): Promise<boolean> {
    const [first, ...rest] = writes;
    const last = rest.pop();
    if (first === undefined || last === undefined || !this.#hasBatches) return false;
    try {
      const { jetstream } = this.#clients;
      const batch = await jetstream.startBatch(this.#subjectOf(first.key), this.#sealed(first), {
        headers: headOf(first),
        timeout: keyPutTimeoutMs,
      });
      for (const write of rest)
        batch.add(this.#subjectOf(write.key), this.#sealed(write), { ack: false, headers: headOf(write) });
      await batch.commit(this.#subjectOf(last.key), this.#sealed(last), {
        headers: headOf(last),
        timeout: keyPutTimeoutMs,
      });
      return true;
    } catch (cause) {
      if (cause instanceof JetStreamApiError) return false;
      throw unavailable("key entries were not confirmed", cause);
    }
  }

  /** The value of one revision; undefined if there is a newer one. A revision never changes, so any server may answer. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async valueAt(revision: number): Promise<Uint8Array | undefined> {
    try {
      const found = await this.#clients.manager.streams.getMessage(streamOf(this.#name), { seq: revision });
      return found === null ? undefined : this.#opened(this.#keyOf(found.subject), found.data);
    } catch (cause) {
      throw unavailable("a key entry could not be read", cause);
    }
  }

  /** The newest value of a key, as the leader has it; undefined if it was deleted, or never there. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async newestOf(key: string): Promise<Uint8Array | undefined> {
    try {
      const asked = { last_by_subj: this.#subjectOf(key) };
      const found = await this.#clients.manager.streams.getMessage(streamOf(this.#name), asked);
      return found === null || isMark(found.header) ? undefined : this.#opened(key, found.data);
    } catch (cause) {
      throw unavailable("an entry could not be read", cause);
    }
  }

  /** Removes all entries of a key, or of a form of keys, and leaves no mark. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async purge(keys: string): Promise<void> {
    try {
      await this.#clients.manager.streams.purge(streamOf(this.#name), { filter: this.#subjectOf(keys) });
    } catch (cause) {
      throw unavailable("entries were not removed", cause);
    }
  }

  /** Delivers the newest entry of every key, then each change. Resolves when all entries that were there are delivered. @throws SaltworksError CLUSTER_UNAVAILABLE */
  async watch(watcher: BucketWatcher): Promise<void> {
    try {
      const newest = await newestSequence(this.#clients.manager, streamOf(this.#name), this.#subjectOf(">"));
      await new Promise<void>((resolve, reject) => {
        let atMs = performance.now();
        const overdue = setInterval(() => {
          if (performance.now() - atMs > keyBucketAnswerMs) reject(new Error("no entry in time"));
        }, pullMs);
        const onEntry = (entry: BucketEntry) => {
          atMs = performance.now();
          watcher.onEntry(entry);
        };
        // A server that was down a moment ago delivers what it has, and the rest when it has caught up.
        const done = () => {
          if (this.#seenRevision < newest) return;
          clearInterval(overdue);
          resolve();
        };
        this.#consume({ ...watcher, onEntry }, done).catch((error: Error) => {
          clearInterval(overdue);
          reject(error);
        });
      });
    } catch (cause) {
      await this.close();
      throw unavailable(`the bucket ${this.#name} cannot be watched`, cause);
    }
    this.#check = setInterval(() => void this.#lookAfter(watcher), keyRescanMs);
    this.#check.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#check);
    clearTimeout(this.#reopen);
    await this.#messages?.close();
  }

  /** Opens a consumer after the last revision seen. The client makes it again by itself if the server loses it. */
  async #consume(watcher: BucketWatcher, onCopied: () => void): Promise<void> {
    const start: Partial<OrderedConsumerOptions> =
      this.#seenRevision === 0
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { opt_start_seq: this.#seenRevision + 1 };
    const options = { ...start, filter_subjects: this.#subjectOf(">") };
    const consumer = await this.#clients.jetstream.consumers.get(streamOf(this.#name), options);
    const { num_pending: pending } = await consumer.info(true);
    const messages = await consumer.consume({
      max_messages: entriesPerPull,
      expires: pullMs,
      callback: (message) => {
        this.#seenRevision = message.seq;
        watcher.onEntry(this.#entryOf(message));
        if (message.info.pending === 0) onCopied();
      },
    });
    this.#messages = messages;
    if (this.#isClosed) messages.stop();
    if (pending === 0) onCopied();
    void messages
      .closed()
      .catch((error: unknown) => error)
      .then((error) => {
        if (this.#isClosed || this.#messages !== messages) return;
        watcher.onFault(error ?? new Error("the watch ended"));
        this.#reopenSoon(watcher);
      });
  }

  #reopenSoon(watcher: BucketWatcher): void {
    clearTimeout(this.#reopen);
    this.#reopen = setTimeout(() => {
      this.#consume(watcher, () => undefined).catch((error: unknown) => {
        if (this.#isClosed) return;
        watcher.onFault(error);
        this.#reopenSoon(watcher);
      });
    }, reopenMs);
  }

  #subjectOf(key: string): string {
    return `$KV.${this.#name}.${key}`;
  }

  #entryOf(message: JsMsg): BucketEntry {
    const key = this.#keyOf(message.subject);
    const value = isMark(message.headers) ? undefined : this.#opened(key, message.data);
    return { key, revision: message.seq, value };
  }

  #keyOf(subject: string): string {
    return subject.slice(this.#subjectOf("").length);
  }

  #sealed({ key, value }: BucketWrite): Uint8Array | undefined {
    const { seal } = this.#clients;
    return value === undefined || seal === undefined ? value : seal.seal("keys", `${this.#name}/${key}`, value);
  }

  /** Nothing for bytes that no member sealed: the reader then ignores the entry, as one that is damaged. */
  #opened(key: string, value: Uint8Array): Uint8Array {
    const { seal } = this.#clients;
    try {
      return seal === undefined ? value : seal.open("keys", `${this.#name}/${key}`, value);
    } catch (error) {
      if (!hasCode(error, "WIRE_MALFORMED")) throw error;
      return new Uint8Array();
    }
  }

  /** Notices a bucket that was made anew, and a watch that delivers nothing although there is something. */
  async #lookAfter(watcher: BucketWatcher): Promise<void> {
    try {
      const info = await this.#clients.manager.streams.info(streamOf(this.#name));
      if (this.#isClosed) return;
      if (identityOf(info) !== this.identity) {
        await this.close();
        watcher.onReplaced();
        return;
      }
      const isBehind = info.state.last_seq > this.#seenRevision;
      if (isBehind && this.#isBehind) {
        const former = this.#messages;
        this.#messages = undefined;
        await former?.close();
        this.#reopenSoon(watcher);
      }
      this.#isBehind = isBehind && !this.#isBehind;
    } catch (error) {
      if (this.#isClosed) return;
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) {
        await this.close();
        watcher.onReplaced();
      } else watcher.onFault(error);
    }
  }
}

function headOf({ value, revision, lifeMs }: BucketWrite): MsgHdrs {
  const head = headers();
  head.set(expectedRevisionHeader, String(revision));
  if (value === undefined) {
    head.set(operationHeader, "DEL");
    head.set(timeToLiveHeader, `${Math.ceil((lifeMs ?? keyMarkKeptMs) / 1_000)}s`);
  } else if (lifeMs !== undefined) head.set(timeToLiveHeader, `${Math.ceil(lifeMs / 1_000)}s`);
  return head;
}

function streamOf(bucket: string): string {
  return `KV_${bucket}`;
}

/** Allows batches, which the client's way to make a bucket does not. A server before 2.12 has none. */
async function withBatches(manager: JetStreamManager, stream: string): Promise<StreamInfo> {
  const info = await manager.streams.info(stream);
  if (info.config.allow_atomic === true) return info;
  try {
    const config = { ...info.config, allow_atomic: true };
    return await manager.streams.update(stream, config);
  } catch (error) {
    // A server that cannot answer now is asked again, with all of the opening.
    if (error instanceof JetStreamApiError && error.status < serverFault) return info;
    throw error;
  }
}

function isMark(head: MsgHdrs | undefined): boolean {
  return head !== undefined && (head.has(operationHeader) || head.has(markReasonHeader));
}

function unavailable(message: string, cause: unknown): SaltworksError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SaltworksError("CLUSTER_UNAVAILABLE", `${message}: ${reason}`, {}, { cause });
}
