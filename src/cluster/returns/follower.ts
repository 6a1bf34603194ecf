/** Reads one stream of returns in order, from a remembered place on, and again after every fault. A message counts as read when it is stored. */
import { setTimeout as pause } from "node:timers/promises";
import type { ConsumerMessages, StreamInfo } from "@nats-io/jetstream";
import { returnMessagesAheadMax, returnRetryMs } from "../../limits.ts";
import type { ClusterConnection } from "../connection.ts";
import { stopWhenSilent } from "../silence.ts";
import type { Place } from "./places.ts";

/** A pull ends after this time. The server gives a sign of life twice in it. */
const pullMs = 2_000;

/** `bytes`: a view, valid until the call settles. */
export type ReceivedMessage = { readonly sequence: number; readonly timeMs: number; readonly bytes: Buffer };

export type FollowerOptions = {
  readonly clients: Pick<ClusterConnection, "jetstream" | "manager">;
  readonly name: string;
  readonly place: Place | undefined;
  /** Reads the messages, which are in order, once each. @returns a function that stores what they hold; if it rejects, it is called again */
  readonly take: (messages: readonly ReceivedMessage[]) => () => Promise<void>;
  /** The stream is not the one of the place, or there was no place. `lastSequence`: of its present messages. */
  readonly onNew: (lastSequence: number) => void;
  /** The stream has lost what it got after `sinceMs`, because it was made anew or ends before the place. `what`: for the log. */
  readonly onLoss: (sinceMs: number, what: string) => void;
  readonly onFault: (error: unknown) => void;
};

export class StreamFollower {
  /** `lost`: messages that the stream dropped before they were read. `reopened`: how often the stream was opened again. */
  readonly counters = { lost: 0, reopened: 0 };
  readonly name: string;
  /** Messages that are not read yet, when last looked. */
  lag = 0;
  readonly #options: FollowerOptions;
  readonly #ending = new AbortController();
  #created: string | undefined;
  #sequence: number;
  #lookedSequence = -1;
  #isTaking = false;
  #messages: ConsumerMessages | undefined;
  readonly #running: Promise<void>;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.name = options.name;
    this.#created = options.place?.created;
    this.#sequence = options.place?.sequence ?? 0;
    this.#running = this.#run();
  }

  get place(): Place | undefined {
    return this.#created === undefined ? undefined : { created: this.#created, sequence: this.#sequence };
  }

  /** Asks how far the stream is. Opens it again if nothing comes although there is something. @throws errors of NATS */
  async look(): Promise<void> {
    const sequence = this.#sequence;
    const { created, state } = await this.#options.clients.manager.streams.info(this.name);
    this.lag = Math.max(0, state.last_seq - this.#sequence);
    const isStuck = this.lag > 0 && this.#lookedSequence === this.#sequence && !this.#isTaking;
    this.#lookedSequence = this.#sequence;
    const isOther = this.#created !== undefined && created !== this.#created;
    if (isStuck || isOther || state.last_seq < sequence) this.#messages?.stop();
  }

  /** Resolves when nothing is being stored any more. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#messages?.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      if (!isFirst) this.counters.reopened += 1;
      try {
        await this.#follow();
      } catch (error) {
        if (!signal.aborted) this.#options.onFault(error);
      }
      await this.#pause();
    }
  }

  async #follow(): Promise<void> {
    const { clients, name } = this.#options;
    this.#notePlace(await clients.manager.streams.info(name));
    const consumer = await clients.jetstream.consumers.get(name, { opt_start_seq: this.#sequence + 1 });
    const messages = await consumer.consume({ max_messages: returnMessagesAheadMax, expires: pullMs });
    this.#messages = messages;
    if (this.#ending.signal.aborted) messages.stop();
    void stopWhenSilent(messages);
    await this.#read(messages);
  }

  /** Stores what has come while the messages before it were stored together, by one write. */
  async #read(messages: ConsumerMessages): Promise<void> {
    const { signal } = this.#ending;
    const waiting: ReceivedMessage[] = [];
    let taking: Promise<void> | undefined;
    const takeAll = async () => {
      while (waiting.length > 0 && !signal.aborted) await this.#take(waiting.splice(0));
      taking = undefined;
    };
    let last = this.#sequence;
    for await (const { seq: sequence, data, time } of messages) {
      if (signal.aborted) break;
      if (sequence <= last) continue;
      // The stream drops messages also while it is read.
      this.counters.lost += sequence - last - 1;
      last = sequence;
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      waiting.push({ sequence, timeMs: time.getTime(), bytes });
      taking ??= takeAll();
      if (waiting.length >= returnMessagesAheadMax) await taking;
    }
    await taking;
  }

  #notePlace({ created, state }: StreamInfo): void {
    const { onNew, onLoss } = this.#options;
    if (created !== this.#created) {
      if (this.#created !== undefined) onLoss(0, "a stream of returns was made anew");
      onNew(state.last_seq);
      this.#created = created;
      this.#sequence = Math.max(0, state.first_seq - 1);
      return;
    }
    if (state.last_seq < this.#sequence) {
      onLoss(Date.parse(state.last_ts), "a stream of returns ends before this member's place");
      this.#sequence = state.last_seq;
    }
    const missed = state.first_seq - this.#sequence - 1;
    if (missed <= 0) return;
    this.counters.lost += missed;
    this.#sequence = state.first_seq - 1;
  }

  /** Until they are stored, or the member ends. */
  async #take(messages: readonly ReceivedMessage[]): Promise<void> {
    this.#isTaking = true;
    try {
      const store = this.#options.take(messages);
      for (;;) {
        try {
          await store();
          this.#sequence = messages.at(-1)?.sequence ?? this.#sequence;
          return;
        } catch (error) {
          if (this.#ending.signal.aborted) return;
          this.#options.onFault(error);
        }
        await this.#pause();
        if (this.#ending.signal.aborted) return;
      }
    } finally {
      this.#isTaking = false;
    }
  }

  async #pause(): Promise<void> {
    const { signal } = this.#ending;
    await pause(returnRetryMs, undefined, { signal }).catch((error: Error) => {
      if (error.name !== "AbortError") throw error;
    });
  }
}
