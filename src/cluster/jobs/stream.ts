/**
 * The jobs of a cluster as one sequence: a stream whose sequence numbers are the serials of publishes. A member appends a job; all members read the
 * jobs in order and send them to their own minions. So serials rise for every minion, whichever member it is subscribed at.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { JetStreamApiError, type JetStreamManager, StorageType, type StreamInfo } from "@nats-io/jetstream";
import { nanos } from "@nats-io/nats-core";
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import {
  jobAppendMs,
  jobAppendRetryMs,
  jobAppendTryMs,
  jobFreshMs,
  jobIdsKnownMs,
  jobsKeptBytesMax,
  jobsKeptMs,
  unsureJobsMax,
} from "../../limits.ts";
import { type ClusterConnection, retried } from "../connection.ts";
import { clusterNames } from "../names.ts";
import { findOrMake } from "../stream-identity.ts";
import { JobPlace } from "./place.ts";
import { JobReader, type JobTaker } from "./reader.ts";
import { encodeJob, type SharedJob } from "./record.ts";

export type JobStreamOptions = {
  readonly connection: Pick<ClusterConnection, "nats" | "jetstream" | "manager" | "seal">;
  /** What the connection leads to, for messages. */
  readonly servers: string;
  readonly clusterId: string;
  /** This member's name. */
  readonly member: string;
  readonly replicas: number;
  readonly placeFile: string;
  /** How long to wait for the servers, milliseconds. */
  readonly waitMs: number;
  readonly take: JobTaker;
  readonly logger: Pick<Logger, "warn" | "error">;
  readonly now?: () => number;
};

/** An append whose acknowledgement did not come. */
type Append = { isUnsure: boolean };

export class JobStream {
  /** `refused`: too few members answered. `duplicates`: jobs whose id another one had. */
  readonly #counters = { appended: 0, refused: 0, duplicates: 0 };
  readonly #options: JobStreamOptions;
  readonly #name: string;
  readonly #reader: JobReader;
  /** Ids of jobs whose append had no answer. The same job, appended again, is not a second one. */
  readonly #unsure = new Set<string>();
  readonly #now: () => number;
  #isConnected = true;
  #isClosed = false;

  private constructor(options: JobStreamOptions, name: string, place: JobPlace) {
    this.#options = options;
    this.#name = name;
    this.#now = options.now ?? Date.now;
    const { connection, member, take, logger } = options;
    this.#reader = new JobReader({
      ...{ jetstream: connection.jetstream, seal: connection.seal, stream: name, member, place, take },
      look: () => openStream(connection.manager, name, options.replicas, place),
      onFault: (error, text) => logger.error({ err: error }, text),
      onSkipped: ({ jid, member: by }, ageMs) =>
        logger.warn(
          { jid, by, ageMs },
          `a job was not sent to this member's minions: it is older than ${jobFreshMs / 1_000} s, or the members' clocks differ`,
        ),
      ...(options.now === undefined ? {} : { now: options.now }),
    });
    void this.#followConnection();
  }

  /** Opens the stream, which the first member makes, and follows it. @throws SaltworksError CLUSTER_UNAVAILABLE */
  static async open(options: JobStreamOptions): Promise<JobStream> {
    const { connection, clusterId, replicas, placeFile, waitMs } = options;
    const name = clusterNames(clusterId).jobs;
    const place = new JobPlace(placeFile);
    await retried("the cluster's sequence of jobs", waitMs, () =>
      openStream(connection.manager, name, replicas, place),
    );
    return new JobStream(options, name, place);
  }

  /** `lag`: jobs that are in the sequence and not sent here yet. */
  get counters() {
    return { ...this.#counters, ...this.#reader.counters, lag: this.#reader.lag };
  }

  /**
   * Gives a job its place in the sequence. Resolves when this member has sent it to its minions.
   *
   * @throws SaltworksError CLUSTER_UNAVAILABLE if the sequence does not take it in time, WIRE_TOO_LARGE, JOB_STATE for an id that another member has
   * just made; what the taker throws
   */
  async append(job: SharedJob): Promise<void> {
    if (this.#isClosed) throw unavailable("this member is ending");
    const { member, connection } = this.#options;
    const plain = encodeJob(job, member, this.#now());
    const bytes = connection.seal?.seal("jobs", this.#name, plain) ?? plain;
    const serial = await this.#serialOf(job, bytes);
    this.#counters.appended += 1;
    await this.#reader.untilTaken(serial);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reader.close();
  }

  /** Tries until `jobAppendMs` have passed. The message id keeps a job from coming twice. */
  async #serialOf(job: SharedJob, bytes: Uint8Array): Promise<number> {
    const untilMs = performance.now() + jobAppendMs;
    const append = { isUnsure: this.#unsure.has(job.jid) };
    // A job that is sent again has the id of the first.
    let messageId = job.kind === "job" ? idOf(job.jid) : uniqueIdOf(job.jid);
    for (;;) {
      const leftMs = untilMs - performance.now();
      const found = await this.#try(bytes, messageId, Math.max(1, Math.min(jobAppendTryMs, leftMs)), append);
      if (typeof found === "number") {
        this.#unsure.delete(job.jid);
        return found;
      }
      if (found === "duplicate") {
        this.#counters.duplicates += 1;
        if (!job.isChosenId)
          throw new SaltworksError(
            "JOB_STATE",
            `another member made a job with the id ${job.jid} at the same time: publish it again`,
          );
        // Operators may use an id again, as on a master without a cluster.
        messageId = uniqueIdOf(job.jid);
        continue;
      }
      if (performance.now() >= untilMs) {
        this.#counters.refused += 1;
        if (append.isUnsure) this.#noteUnsure(job.jid);
        const text = append.isUnsure ? unsureText : tooFewText;
        throw unavailable(found instanceof JetStreamApiError ? `${text} (${found.message})` : text, found);
      }
      await pause(Math.min(jobAppendRetryMs, Math.max(1, untilMs - performance.now())));
    }
  }

  /** @returns the serial; `duplicate` if another job has the id; or why there was no acknowledgement */
  async #try(bytes: Uint8Array, msgID: string, timeout: number, append: Append): Promise<number | "duplicate" | Error> {
    // The client would keep the job, and send it when the server is back.
    if (!this.#isConnected) return new Error(`${this.#options.servers} does not answer`);
    try {
      const { seq, duplicate } = await this.#options.connection.jetstream.publish(this.#name, bytes, {
        msgID,
        timeout,
        expect: { streamName: this.#name },
      });
      return duplicate && !append.isUnsure ? "duplicate" : seq;
    } catch (error) {
      // Without a leader nothing takes the message, and an error of the stream says that it did not. After silence it may have it.
      if (!hasNoLeader(error) && !(error instanceof JetStreamApiError)) append.isUnsure = true;
      return error as Error;
    }
  }

  /** Ends with the connection. */
  async #followConnection(): Promise<void> {
    for await (const { type } of this.#options.connection.nats.status()) {
      if (type === "disconnect") this.#isConnected = false;
      else if (type === "reconnect") this.#isConnected = true;
    }
  }

  #noteUnsure(jid: string): void {
    this.#unsure.add(jid);
    const [oldest] = this.#unsure;
    if (this.#unsure.size > unsureJobsMax && oldest !== undefined) this.#unsure.delete(oldest);
  }
}

const tooFewText = "too few members of the cluster answer, so the job is not published";
const unsureText = `too few members of the cluster answer: the job is not published here, and runs only if they come back within ${jobFreshMs / 1_000} s`;

function unavailable(message: string, cause?: unknown): SaltworksError {
  return new SaltworksError("CLUSTER_UNAVAILABLE", message, {}, { cause });
}

/** A header's text; an operator's job id may have any letters. */
const idOf = (jid: string) => Buffer.from(jid).toString("base64url");
const uniqueIdOf = (jid: string) => `${idOf(jid)}/${randomBytes(12).toString("base64url")}`;

/** The stream as it is. Makes it if there is none: its first serial is above all that a master has used by itself, and all that this member has seen. */
function openStream(manager: JetStreamManager, name: string, replicas: number, place: JobPlace): Promise<StreamInfo> {
  return findOrMake(manager, {
    name,
    subjects: [name],
    storage: StorageType.File,
    num_replicas: replicas,
    max_age: nanos(jobsKeptMs),
    max_bytes: jobsKeptBytesMax,
    duplicate_window: nanos(jobIdsKnownMs),
    first_seq: Math.max(Date.now(), place.serial + 1),
  });
}

/** The client's error, whose class it does not export, when nothing takes a message. */
function hasNoLeader(error: unknown): boolean {
  return error instanceof Error && error.name === "JetStreamNotEnabled";
}
