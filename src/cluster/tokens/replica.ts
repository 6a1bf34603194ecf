/**
 * Tokens of externally authenticated users, the same on every member: a token that one member made is good on all. The files of tokens are the copy that
 * masters read; the bucket has each file sealed, under the file's name, which is a digest of the token.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { clusterRetryMs, tokenFileBytesMax } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { TokenFile, Tokens } from "../../store/secrets/tokens.ts";
import { OtherVersions } from "../other-version.ts";
import { openRecord, sealRecord } from "../secrets/record.ts";
import { type BucketClients, type BucketEntry, WatchedBucket } from "../watched-bucket.ts";

export type SharedTokens = Pick<Tokens, "share" | "receive" | "files">;

export type TokenReplicaOptions = {
  readonly clients: BucketClients;
  readonly bucket: string;
  readonly replicas: number;
  readonly box: SecretBox;
  readonly tokens: SharedTokens;
  readonly logger: Logger;
};

const minuteMs = 60_000;
/** A seal and a version come to the file. */
const recordBytesMax = tokenFileBytesMax + 1_024;

export class TokenReplica {
  readonly counters = { sent: 0, received: 0, failed: 0 };
  readonly #options: TokenReplicaOptions;
  readonly #bucket: WatchedBucket;
  /** The newest revision of each token's file. Bounded by the number of tokens. */
  readonly #revisions = new Map<string, number>();
  /** Changes here that the bucket lacks, the newest of each name. Bounded by the number of tokens. */
  readonly #waiting = new Map<string, TokenFile>();
  readonly #otherVersions: OtherVersions;
  readonly #ending = new AbortController();
  /** What is being sent now. */
  #sentName: string | undefined;
  #sending: Promise<void> | undefined;

  private constructor(options: TokenReplicaOptions, bucket: WatchedBucket) {
    this.#options = options;
    this.#bucket = bucket;
    this.#otherVersions = new OtherVersions(options.logger);
  }

  /**
   * Takes the other members' tokens, sends this one's, and follows both.
   *
   * @throws SaltworksError CLUSTER_UNAVAILABLE
   */
  static async open(options: TokenReplicaOptions): Promise<TokenReplica> {
    const { clients, bucket: name, replicas, tokens, logger } = options;
    const form = { what: "tokens", valueBytesMax: recordBytesMax, endMarkMs: minuteMs };
    const bucket = await WatchedBucket.open(clients, name, { replicas, ...form });
    const replica = new TokenReplica(options, bucket);
    tokens.share((file) => replica.#note(file));
    await bucket.watch({
      onEntry: (entry) => replica.#take(entry),
      onReplaced: () =>
        logger.error("the cluster's bucket of tokens was deleted: tokens are shared again after a restart"),
      onFault: (err) => logger.warn({ err }, "the cluster's tokens cannot be followed now: tries again"),
    });
    for (const file of tokens.files()) {
      // Of a removed one the bucket must lose what it has, and of a kept one it must get what it lacks.
      if (replica.#revisions.has(file.name) === (file.bytes === undefined)) replica.#note(file);
    }
    return replica;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  async close(): Promise<void> {
    this.#options.tokens.share(undefined);
    this.#ending.abort();
    await this.#bucket.close();
    await this.#sending;
  }

  #note(file: TokenFile): void {
    const { name, bytes } = file;
    if (bytes === undefined && !this.#revisions.has(name) && this.#sentName !== name) {
      // The bucket never had it.
      this.#waiting.delete(name);
      return;
    }
    this.#waiting.set(name, file);
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  async #send(): Promise<void> {
    const { signal } = this.#ending;
    const { box, logger } = this.#options;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const [file] = this.#waiting.values();
      if (file === undefined) return;
      const { name, bytes, endMs } = file;
      try {
        const value = bytes && sealRecord(box, recordName(name), { bytes });
        const lifeMs = Math.max(minuteMs, endMs - Date.now());
        this.#sentName = name;
        const revision = await this.#bucket.put({ key: name, value, lifeMs, revision: this.#revisions.get(name) ?? 0 });
        if (revision !== undefined) {
          if (value === undefined) this.#revisions.delete(name);
          else this.#revisions.set(name, revision);
          this.counters.sent += 1;
        }
        // Another change may have come meanwhile. One that conflicts is another member's, which the watch brings.
        if (this.#waiting.get(name) === file) this.#waiting.delete(name);
      } catch (error) {
        this.counters.failed += 1;
        logger.warn({ err: error, waiting: this.#waiting.size }, "a token cannot be shared now: it is sent again");
        await pause(clusterRetryMs, undefined, { signal }).catch(() => undefined);
      } finally {
        this.#sentName = undefined;
      }
    }
  }

  #take({ key: name, revision, value }: BucketEntry): void {
    const isOwn = (this.#revisions.get(name) ?? 0) >= revision;
    if (value === undefined) this.#revisions.delete(name);
    else if (!isOwn) this.#revisions.set(name, revision);
    if (isOwn || this.#waiting.has(name)) return;
    const { box, tokens, logger } = this.#options;
    try {
      const record = value && openRecord<{ readonly bytes: Uint8Array }>(box, recordName(name), value);
      if (tokens.receive({ name, bytes: record?.bytes }, Date.now())) this.counters.received += 1;
    } catch (error) {
      this.counters.failed += 1;
      if (this.#otherVersions.note("token", error)) return;
      logger.error({ err: error, name }, "a token of another member could not be taken");
    }
  }
}

/** The seal is bound to the name, so that one token's file cannot stand in for another's. */
function recordName(name: string): string {
  return `token/${name}`;
}
