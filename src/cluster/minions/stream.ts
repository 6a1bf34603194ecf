/** The stream of minions' data: the newest message of each subject, kept on three servers and read in order. */
import type { ConsumerMessages, JetStreamClient, JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import { headers } from "@nats-io/nats-core";
import {
  natsMessageBytesMax,
  sharedBatch,
  sharedCheckMs,
  sharedPutMs,
  sharedReadAheadBytes,
  sharedRemovalKeptMs,
} from "../../limits.ts";
import { isConflict } from "../conflict.ts";
import { unavailable } from "../connection.ts";
import { newestSequence } from "../newest-sequence.ts";
import { findOrMake, identityOf, isStreamMissing } from "../stream-identity.ts";

const timeToLiveHeader = "Nats-TTL";
/** A pull for messages ends after this time. */
const pullMs = 2_000;

export type StreamClients = {
  readonly jetstream: Pick<JetStreamClient, "publish" | "consumers">;
  readonly manager: Pick<JetStreamManager, "streams">;
};
/** `prefix`: the beginning of its subjects. */
export type DescribedStream = { readonly name: string; readonly prefix: string; readonly replicas: number };
/** `messageId`: of this version of the part, so that a try whose outcome was not known is written once. */
export type PartWrite = { readonly subject: string; readonly body: Uint8Array; readonly messageId: string };
/** `isKnown`: an earlier try had written it. Something newer may have come since. */
export type PartWritten = { readonly sequence: number; readonly isKnown: boolean };
export type StreamMessage = { readonly subject: string; readonly sequence: number; readonly body: Uint8Array };
/** `isCaughtUp`: all that the stream had when its reading began was handed over, and nothing is on its way. */
export type StreamTaker = (messages: readonly StreamMessage[], isCaughtUp: boolean) => Promise<void>;

export class MinionStream {
  readonly #clients: StreamClients;
  readonly #name: string;
  readonly #prefix: string;
  /** When the stream was made: it differs for one of the same name that was made anew. */
  readonly identity: string;
  /** The sequence of its last message at the time of opening. */
  readonly lastSequence: number;
  #messages: ConsumerMessages | undefined;
  #isClosed = false;

  private constructor(clients: StreamClients, { name, prefix }: Omit<DescribedStream, "replicas">, info: StreamInfo) {
    this.#clients = clients;
    this.#name = name;
    this.#prefix = prefix;
    this.identity = identityOf(info);
    this.lastSequence = info.state.last_seq;
  }

  /** Opens the stream; makes it with `replicas` copies if there is none. @throws what NATS throws */
  static async open(clients: StreamClients, described: DescribedStream): Promise<MinionStream> {
    const { name, prefix, replicas } = described;
    const info = await findOrMake(clients.manager, {
      name,
      subjects: [`${prefix}.>`],
      num_replicas: replicas,
      max_msgs_per_subject: 1,
      max_msg_size: natsMessageBytesMax,
      allow_msg_ttl: true,
    });
    return new MinionStream(clients, described, info);
  }

  /**
   * Replaces the newest message of a subject. `removed`: the write is the removal of what that message told, and fails if it is not the newest.
   *
   * @returns undefined if it is not
   * @throws SaltworksError CLUSTER_UNAVAILABLE: it may have been written, or may still be
   */
  async put({ subject, body, messageId: msgID }: PartWrite, removed?: number): Promise<PartWritten | undefined> {
    const head = headers();
    if (removed !== undefined) head.set(timeToLiveHeader, `${sharedRemovalKeptMs / 1_000}s`);
    const expected = removed === undefined ? {} : { headers: head, expect: { lastSubjectSequence: removed } };
    try {
      const options = { msgID, timeout: sharedPutMs, ...expected };
      const { seq: sequence, duplicate: isKnown } = await this.#clients.jetstream.publish(subject, body, options);
      return { sequence, isKnown };
    } catch (cause) {
      if (isConflict(cause)) return undefined;
      throw unavailable("the cluster's stream of minions' data", cause);
    }
  }

  /** The newest message of a subject. @throws what NATS throws */
  async last(subject: string): Promise<StreamMessage | undefined> {
    const found = await this.#clients.manager.streams.getMessage(this.#name, { last_by_subj: subject });
    return found === null ? undefined : { subject, sequence: found.seq, body: found.data };
  }

  /**
   * Hands over the messages after `sequence` in order, then each new one, some at a time. The next ones wait until `take` has resolved.
   * Ends with `close`, and when the stream is lost or was made anew.
   *
   * @throws what NATS or `take` throws
   */
  async follow(sequence: number, take: StreamTaker): Promise<void> {
    const { jetstream, manager } = this.#clients;
    const newest = await newestSequence(manager, this.#name, `${this.#prefix}.>`);
    const consumer = await jetstream.consumers.get(this.#name, { opt_start_seq: sequence + 1 });
    const { num_pending: pending } = await consumer.info(true);
    const messages = await consumer.consume({ max_bytes: sharedReadAheadBytes, expires: pullMs });
    this.#messages = messages;
    if (this.#isClosed) messages.stop();
    let seen = sequence;
    let isBehind = false;
    const check = setInterval(async () => {
      const last = await this.#lastSequence();
      const isLate = typeof last === "number" && last > seen;
      // One that delivers nothing although there is something is opened anew.
      if (last === "replaced" || (isLate && isBehind)) messages.stop();
      isBehind = isLate;
    }, sharedCheckMs);
    try {
      if (pending === 0 && sequence >= newest) await take([], true);
      let batch: StreamMessage[] = [];
      let bytes = 0;
      for await (const message of messages) {
        isBehind = false;
        batch.push({ subject: message.subject, sequence: message.seq, body: message.data });
        bytes += message.data.byteLength;
        const isLast = message.info.pending === 0;
        if (!isLast && batch.length < sharedBatch.messages && bytes < sharedBatch.bytes) continue;
        const taken = batch;
        [batch, bytes] = [[], 0];
        await take(taken, isLast && message.seq >= newest);
        seen = message.seq;
      }
    } finally {
      clearInterval(check);
      await messages.close();
    }
  }

  /** Ends `follow`. */
  close(): void {
    this.#isClosed = true;
    this.#messages?.stop();
  }

  /** `replaced`: the stream is not the one that was opened. Undefined: no server answers. */
  async #lastSequence(): Promise<number | "replaced" | undefined> {
    try {
      const info = await this.#clients.manager.streams.info(this.#name);
      return identityOf(info) === this.identity ? info.state.last_seq : "replaced";
    } catch (error) {
      return isStreamMissing(error) ? "replaced" : undefined;
    }
  }
}
