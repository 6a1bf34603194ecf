/**
 * Reads the sequence of a cluster's jobs, in order and from the remembered place. Several jobs are stored at once, and each is sent when the one before
 * has left. A consumer that is lost, a stream that stands still and one that was made anew are noticed.
 */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ConsumerMessages, JetStreamClient, JsMsg, StreamInfo } from "@nats-io/jetstream";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import {
  jobAppendsKnownMax,
  jobCloseMs,
  jobFreshMs,
  jobReadMs,
  jobReopenMs,
  jobSequenceAnswerMs,
  jobSequenceLookMs,
  jobsUnderWayMax,
  jobTakenMs,
} from "../../limits.ts";
import type { RecordSeal } from "../record-seal.ts";
import { stopWhenSilent } from "../silence.ts";
import { identityOf } from "../stream-identity.ts";
import type { JobPlace } from "./place.ts";
import { decodeJob, type ReceivedJob } from "./record.ts";

/** A pull for jobs ends after this time. The server shows life twice in it. */
const pullMs = 2_000;

/** Sends a job that is stored to this member's minions. A job that is not fresh is not sent. */
export type SendStep = (isFresh: boolean) => Promise<void>;
/** `stored`: of a job that could not be stored. The place in the sequence stays before the job until it resolves. */
export type TakenJob = { readonly send: SendStep; readonly stored?: Promise<void> | undefined };
/** Stores a job. Several are stored at once; the steps that send them run one by one, in order. */
export type JobTaker = (job: ReceivedJob) => Promise<TakenJob>;

/** For an append that has come already. */
const nothing: JobTaker = async () => ({ send: async () => undefined });

export type ReaderOptions = {
  readonly jetstream: JetStreamClient;
  readonly seal?: RecordSeal | undefined;
  readonly stream: string;
  readonly member: string;
  readonly place: JobPlace;
  /** The stream as it is, made anew if it is gone. */
  readonly look: () => Promise<StreamInfo>;
  readonly take: JobTaker;
  readonly onFault: (error: unknown, text: string) => void;
  readonly onSkipped: (job: ReceivedJob, ageMs: number) => void;
  /** The wall clock, in which jobs carry their time. */
  readonly now?: () => number;
};

type Waiter = {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
};

export class JobReader {
  /** `taken`: all jobs. `late`: own ones that were not sent here within `jobTakenMs`. */
  readonly counters = { taken: 0, sent: 0, skipped: 0, repeated: 0, faults: 0, late: 0 };
  readonly #options: ReaderOptions;
  readonly #now: () => number;
  readonly #ending = new AbortController();
  readonly #waiters = new Map<number, Waiter>();
  /** Own jobs that could not be sent here and that no publish waits for yet. */
  readonly #failed = new Map<number, unknown>();
  #messages: ConsumerMessages | undefined;
  /** Digests of the latest appends, oldest first. */
  readonly #appends = new Set<string>();
  #tail: Promise<void> = Promise.resolve();
  #underWay = 0;
  #pending = 0;
  #readSerial = 0;
  #takenSerial = 0;
  #isBehind = false;
  #isMute = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#readSerial = options.place.serial;
    this.#takenSerial = options.place.serial;
    void this.#follow();
  }

  /** Jobs in the sequence that this member has not taken yet. */
  get lag(): number {
    return this.#pending + this.#underWay;
  }

  /** Resolves when this member has sent the job; after `jobTakenMs`, or when the reader closes, all the same. @throws what sending it threw */
  untilTaken(serial: number): Promise<void> {
    const failed = this.#failed.get(serial);
    if (failed !== undefined) {
      this.#failed.delete(serial);
      return Promise.reject(failed);
    }
    if (serial <= this.#takenSerial || this.#ending.signal.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onLate = () => {
        this.#waiters.delete(serial);
        this.counters.late += 1;
        resolve();
      };
      const onSilent = () => {
        // The stream has the job, so that a consumer that does not deliver it is lost.
        if (this.#readSerial < serial) this.#messages?.stop();
        waiter.timer = setTimeout(onLate, jobTakenMs - jobReadMs);
      };
      const waiter = { resolve, reject, timer: setTimeout(onSilent, jobReadMs) };
      this.#waiters.set(serial, waiter);
    });
  }

  /** Stops reading. Resolves when the jobs that were read are sent. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#messages?.stop();
    await within(this.#tail, jobCloseMs, () =>
      this.#options.onFault(undefined, "jobs of the cluster were still being sent at the end"),
    );
    for (const serial of [...this.#waiters.keys()]) this.#settle(serial);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        if (!signal.aborted) this.#options.onFault(error, "the cluster's jobs cannot be read: tries again");
      }
      await pause(jobReopenMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Reads until the consumer ends. */
  async #read(): Promise<void> {
    const { jetstream, stream, look } = this.#options;
    const identity = this.#start(await answered(look()));
    const start = this.#readSerial === 0 ? {} : { opt_start_seq: this.#readSerial + 1 };
    const consumer = await answered(jetstream.consumers.get(stream, start));
    const messages = await consumer.consume({ max_messages: jobsUnderWayMax, expires: pullMs });
    this.#messages = messages;
    if (this.#ending.signal.aborted) messages.stop();
    void stopWhenSilent(messages);
    const check = setInterval(() => void this.#lookAfter(messages, identity), jobSequenceLookMs);
    try {
      for await (const message of messages) {
        if (this.#ending.signal.aborted) return;
        this.#begin(message, identity);
        while (this.#underWay >= jobsUnderWayMax) await this.#tail;
      }
    } finally {
      clearInterval(check);
      messages.stop();
    }
  }

  /** Begins anew in a stream that was made anew. @returns the stream's identity */
  #start(info: StreamInfo): string {
    const identity = identityOf(info);
    const { place, onFault } = this.#options;
    if (identity !== place.stream) {
      if (place.stream !== "") onFault(undefined, "the cluster's sequence of jobs was made anew");
      this.#readSerial = 0;
    } else if (info.state.last_seq < this.#readSerial) {
      onFault(undefined, "the cluster has lost jobs: its sequence ends before this member's place");
      this.#readSerial = info.state.last_seq;
    }
    return identity;
  }

  /** Ends a consumer that delivers nothing although there is something, or whose stream was made anew. */
  async #lookAfter(messages: ConsumerMessages, identity: string): Promise<void> {
    try {
      const info = await answered(this.#options.look());
      this.#isMute = false;
      const isBehind = info.state.last_seq > this.#readSerial && this.#underWay === 0;
      if (identityOf(info) !== identity || (isBehind && this.#isBehind)) messages.stop();
      this.#isBehind = isBehind && !this.#isBehind;
      if (isBehind) this.#pending = info.state.last_seq - this.#readSerial;
    } catch (error) {
      // An election is over before the next look.
      if (this.#isMute && !this.#ending.signal.aborted)
        this.#options.onFault(error, "the cluster's sequence of jobs does not answer");
      this.#isMute = true;
    }
  }

  #begin(message: JsMsg, identity: string): void {
    const { seq: serial } = message;
    this.#readSerial = serial;
    this.#pending = message.info.pending;
    this.#underWay += 1;
    let taking: Promise<TakenJob & { job: ReceivedJob }>;
    try {
      const { seal, stream } = this.#options;
      const job = decodeJob(seal?.open("jobs", stream, message.data) ?? message.data, serial);
      const take = this.#isRepeated(message.data) ? nothing : this.#options.take;
      taking = take(job).then((taken) => ({ ...taken, job }));
    } catch (error) {
      taking = Promise.reject(error);
    }
    // It is awaited in its turn.
    taking.catch(() => undefined);
    this.#tail = this.#tail.then(() => this.#finish(taking, serial, identity));
  }

  /**
   * Whether the same append has come already. NATS knows a repeated try by its id, but not always if its leader ended in between. Each try has the same
   * bytes, which two jobs never have.
   */
  #isRepeated(bytes: Uint8Array): boolean {
    const digest = createHash("sha256").update(bytes).digest("base64");
    if (this.#appends.has(digest)) {
      this.counters.repeated += 1;
      return true;
    }
    this.#appends.add(digest);
    const [oldest] = this.#appends;
    if (this.#appends.size > jobAppendsKnownMax && oldest !== undefined) this.#appends.delete(oldest);
    return false;
  }

  async #finish(taking: Promise<TakenJob & { job: ReceivedJob }>, serial: number, identity: string): Promise<void> {
    let isOwn = false;
    try {
      const { job, send, stored } = await taking;
      isOwn = job.member === this.#options.member;
      const ageMs = this.#now() - job.atMs;
      const isFresh = ageMs <= jobFreshMs;
      if (stored !== undefined) this.#hold(identity, serial, stored);
      this.#move(identity, serial);
      await send(isFresh);
      this.counters[isFresh ? "sent" : "skipped"] += 1;
      if (!isFresh) this.#options.onSkipped(job, ageMs);
      this.#settle(serial);
    } catch (error) {
      this.counters.faults += 1;
      this.#options.onFault(error, this.#notSentText(error));
      this.#settle(serial, error, isOwn);
    } finally {
      this.counters.taken += 1;
      this.#takenSerial = serial;
      this.#underWay -= 1;
    }
  }

  #notSentText(error: unknown): string {
    const text = "a job of the cluster was not sent to this member's minions";
    if (!(error instanceof SaltworksError) || error.code !== "CLUSTER_REFUSED") return text;
    const { version = 0, known = 0 } = error.detail;
    const older = version > known ? this.#options.member : "that published it";
    return `${text}: ${error.message}: upgrade the member ${older}`;
  }

  /** Before the job is sent, so that a member that ends here does not send it again. */
  #move(identity: string, serial: number): void {
    try {
      this.#options.place.move(identity, serial);
    } catch (error) {
      this.#notePlaceFault(error);
    }
  }

  /** Also after the reader's end, which is before the last try to store. */
  #hold(identity: string, serial: number, stored: Promise<void>): void {
    const release = this.#options.place.hold(identity, serial);
    void stored.then(release).catch((error: unknown) => this.#notePlaceFault(error));
  }

  #notePlaceFault(error: unknown): void {
    this.counters.faults += 1;
    this.#options.onFault(error, "the place in the cluster's jobs cannot be written");
  }

  #settle(serial: number, error?: unknown, isOwn = false): void {
    const waiter = this.#waiters.get(serial);
    if (waiter === undefined) {
      if (error !== undefined && isOwn && this.#failed.size < jobsUnderWayMax) this.#failed.set(serial, error);
      return;
    }
    this.#waiters.delete(serial);
    clearTimeout(waiter.timer);
    if (error === undefined) waiter.resolve();
    else waiter.reject(error);
  }
}

/** Gives up a question that no leader answers, so that it is asked again. */
function answered<Answer>(asking: Promise<Answer>): Promise<Answer> {
  return within(asking, jobSequenceAnswerMs, () => {
    throw new Error("no answer in time");
  });
}
