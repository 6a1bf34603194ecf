/** Sends what minions changed here: asks each worker in turn for unsent parts, writes them to the stream, and tells the worker. */
import type { Logger } from "pino";
import {
  natsMessageBytesMax,
  sharedMessageRoomBytes,
  sharedPutsUnderWayMax,
  sharedRetryMs,
  sharedTakeMs,
} from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { LocalMinions, SentPart, TakenParts, UnsentPart } from "./local.ts";
import { sealPart, subjectOf } from "./message.ts";
import type { MinionStream } from "./stream.ts";

export type PartSenderOptions = {
  readonly local: LocalMinions;
  readonly box: SecretBox;
  readonly prefix: string;
  readonly messageVersion: number;
  /** Undefined while the member has not caught up. Nothing is sent then. */
  readonly stream: () => MinionStream | undefined;
  /** An earlier try had written the subject's part, so that what came since gave way to it and must be read again. */
  readonly onKnown: (subject: string, id: string) => void;
  readonly logger: Pick<Logger, "info" | "warn">;
};

export class PartSender {
  /** `refused`: removals of what had changed again. `dropped`: parts that are larger than a message may be. */
  readonly counters = { sent: 0, refused: 0, dropped: 0, failures: 0 };
  /** Unsent parts at the last look. */
  waiting = 0;
  readonly #options: PartSenderOptions;
  /** Subjects on their way. */
  #underWay: ReadonlySet<string> = new Set();
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #failuresInRow = 0;
  #isClosed = false;

  constructor(options: PartSenderOptions) {
    this.#options = options;
    this.#timer = setTimeout(() => this.#pass(), sharedTakeMs);
  }

  /** Resolves when none of these subjects is on its way. */
  async settled(subjects: readonly string[]): Promise<void> {
    if (subjects.some((subject) => this.#underWay.has(subject))) await this.#sending;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sending;
  }

  /** One look at each worker. */
  async #pass(): Promise<void> {
    const { local, logger } = this.#options;
    try {
      if (this.#options.stream() === undefined) this.waiting = await local.ask<number>(0, { what: "count" }, 0);
      for (let slot = 0; slot < local.slotCount; slot += 1) await this.#takeFrom(slot);
      if (this.#failuresInRow > 0) logger.info("minions' data reaches the other members again");
      this.#failuresInRow = 0;
    } catch (error) {
      this.counters.failures += 1;
      if (this.#failuresInRow === 0 && !this.#isClosed)
        logger.warn(
          { err: error, waiting: this.waiting },
          "minions' data cannot reach the other members now; it is kept, and sent again",
        );
      this.#failuresInRow += 1;
    }
    if (this.#isClosed) return;
    const { first, longest } = sharedRetryMs;
    const retryMs = Math.min(longest, first * 2 ** Math.min(this.#failuresInRow, 10)) * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#pass(), this.#failuresInRow > 0 ? retryMs : sharedTakeMs);
  }

  async #takeFrom(slot: number): Promise<void> {
    const { local } = this.#options;
    let after: string | undefined;
    do {
      const stream = this.#options.stream();
      if (stream === undefined || this.#isClosed) return;
      const taken: TakenParts = await local.ask<TakenParts>(slot, { what: "take", after }, 0);
      this.waiting = taken.waiting;
      if (taken.parts.length > 0) await this.#send(slot, stream, taken.parts);
      after = taken.next;
    } while (after !== undefined);
  }

  async #send(slot: number, stream: MinionStream, parts: readonly UnsentPart[]): Promise<void> {
    this.#underWay = new Set(parts.map(({ id, part }) => subjectOf(this.#options.prefix, id, part)));
    const sending = this.#sendAll(slot, stream, parts);
    // Who waits for it needs its end, not its fault.
    this.#sending = sending.catch(() => undefined);
    try {
      await sending;
    } finally {
      this.#underWay = new Set();
    }
  }

  /** What is written is told to the worker even if a later part fails. */
  async #sendAll(slot: number, stream: MinionStream, parts: readonly UnsentPart[]): Promise<void> {
    const sent: SentPart[] = [];
    const faults: unknown[] = [];
    const left = [...parts];
    const lane = async () => {
      for (let next = left.shift(); next !== undefined && faults.length === 0; next = left.shift()) {
        try {
          sent.push(await this.#sendOne(stream, next));
        } catch (error) {
          faults.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: sharedPutsUnderWayMax }, lane));
    if (sent.length > 0) await this.#options.local.ask(slot, { what: "noteSent", parts: sent }, 0);
    this.waiting = Math.max(0, this.waiting - sent.length);
    const [fault] = faults;
    if (fault !== undefined) throw fault;
  }

  async #sendOne(stream: MinionStream, { id, part, version, step, data }: UnsentPart): Promise<SentPart> {
    const { box, prefix, logger, onKnown } = this.#options;
    const outcome = { id, part, version, isRemoval: data === undefined };
    const bytes = data?.byteLength ?? 0;
    if (bytes > natsMessageBytesMax - sharedMessageRoomBytes) {
      this.counters.dropped += 1;
      logger.warn({ id, part, bytes }, "a minion's data is too large for the other members, and is on this one only");
      return { ...outcome, sequence: undefined };
    }
    const subject = subjectOf(prefix, id, part);
    const body = sealPart(box, subject, data, this.#options.messageVersion);
    const written = await stream.put({ subject, body, messageId: version }, data === undefined ? step : undefined);
    if (written === undefined) this.counters.refused += 1;
    else this.counters.sent += 1;
    if (written?.isKnown === true) onKnown(subject, id);
    return { ...outcome, sequence: written?.sequence };
  }
}
