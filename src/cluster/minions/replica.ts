/**
 * Keeps minions' grains, pillars and mines the same on all members. The stores of the workers stay the truth on each member; the stream decides by its
 * order when two members differ. A change made here and not sent yet is later than all that the stream has.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { sharedKeylessMax, sharedPlaceMs, sharedReopenMs } from "../../limits.ts";
import type { ForgottenPart } from "../../store/minions/forgotten.ts";
import type { SharePlace } from "../../store/minions/share-marks.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { AppliedParts, ArrivedPart, LocalMinions } from "./local.ts";
import { messageVersion, openPart, subjectNames } from "./message.ts";
import { PartSender } from "./sender.ts";
import { type DescribedStream, MinionStream, type StreamClients, type StreamMessage } from "./stream.ts";

export type MinionReplicaOptions = {
  readonly clients: StreamClients;
  readonly stream: DescribedStream;
  readonly box: SecretBox;
  readonly local: LocalMinions;
  /** Whether the minion's key is accepted here. */
  readonly isAccepted: (id: string) => boolean;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Of the messages that this member writes and reads. Tests use others. */
  readonly version?: number;
};

const partNames: readonly ForgottenPart[] = ["facts", "mine"];

export class MinionReplica {
  /**
   * `kept`: messages that gave way to a later change made here. `ignored`: messages that do not open, and ones of another version, which a release
   * that knows it reads again. `dropped`: messages of minions without an accepted key, beyond `sharedKeylessMax`. `faults`: how often the stream was
   * lost.
   */
  readonly counters = { received: 0, applied: 0, kept: 0, ignored: 0, dropped: 0, faults: 0 };
  readonly sender: PartSender;
  readonly #options: MinionReplicaOptions;
  readonly #version: number;
  /** Subjects to be read again, and their minions: once the minion's key is accepted here. */
  readonly #again = new Map<string, string>();
  readonly #ending = new AbortController();
  #running: Promise<void>;
  #stream: MinionStream | undefined;
  #place: SharePlace | undefined;
  #savedMs = 0;
  #isCaughtUp = false;
  #isTakingAgain = false;
  /** Whether the log tells of a message that does not open. */
  #isIgnoring = false;
  /** Of the latest message that this release does not read. */
  #otherVersion: number | undefined;

  /** Starts at once, and goes on until `close`, also while the cluster does not answer. */
  constructor(options: MinionReplicaOptions) {
    this.#options = options;
    const { local, box, logger, version = messageVersion } = options;
    this.#version = version;
    this.sender = new PartSender({
      ...{ local, box, logger, prefix: options.stream.prefix, messageVersion: version },
      stream: () => (this.#isCaughtUp ? this.#stream : undefined),
      onKnown: (subject, id) => this.#noteAgain(subject, id),
    });
    this.#running = this.#run();
  }

  /** Whether all that the stream had was taken. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** Stops, and saves the place. What was not sent is sent after the next start. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#stream?.close();
    await this.sender.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    const { signal } = this.#ending;
    let isTold = false;
    while (!signal.aborted) {
      try {
        await this.#follow(() => {
          if (isTold) logger.info("minions' data comes from the other members again");
          isTold = false;
        });
      } catch (error) {
        this.counters.faults += 1;
        if (!isTold && !signal.aborted)
          logger.warn({ err: error }, "minions' data of the other members does not come now; it is asked for again");
        isTold = true;
      }
      this.#isCaughtUp = false;
      await pause(sharedReopenMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #follow(onCaughtUp: () => void): Promise<void> {
    const { clients, stream: described, local } = this.#options;
    const stream = await MinionStream.open(clients, described);
    this.#stream = stream;
    if (this.#ending.signal.aborted) return;
    const { identity, lastSequence } = stream;
    const opened = await local.ask<SharePlace>(0, { what: "open", stream: identity, lastSequence }, 0);
    const place = this.#withUnread(opened);
    this.#place = place;
    const look = setInterval(() => void this.#takeAgain(stream), sharedPlaceMs);
    try {
      await stream.follow(place.seq, async (messages, isCaughtUp) => {
        await this.#take(messages);
        if (isCaughtUp && !this.#isCaughtUp) {
          await this.#markAll();
          this.#isCaughtUp = true;
          onCaughtUp();
        }
      });
    } finally {
      clearInterval(look);
      await this.#save();
    }
  }

  /** Begins at the first message that a former release could not read, if this one may. */
  #withUnread({ unread, ...place }: SharePlace): SharePlace {
    if (unread === undefined) return place;
    if (unread.version === this.#version) return { ...place, unread };
    return { ...place, seq: Math.min(place.seq, unread.seq - 1) };
  }

  async #take(messages: readonly StreamMessage[]): Promise<void> {
    const last = messages.at(-1);
    if (last === undefined || this.#place === undefined) return;
    this.counters.received += messages.length;
    await this.#apply(messages);
    this.#place = { ...this.#place, seq: last.sequence };
    if (performance.now() - this.#savedMs > sharedPlaceMs) await this.#save();
  }

  async #apply(messages: readonly StreamMessage[]): Promise<void> {
    const { local } = this.#options;
    const subjects = messages.map(({ subject }) => subject);
    // Only then it is known which of the two is newer.
    await this.sender.settled(subjects);
    const bySlot = new Map<number, (ArrivedPart & { readonly subject: string })[]>();
    for (const message of messages) {
      const arrived = this.#open(message);
      if (arrived === undefined) continue;
      const slot = local.slotOf(arrived.id);
      const others = bySlot.get(slot);
      if (others === undefined) bySlot.set(slot, [arrived]);
      else others.push(arrived);
    }
    await Promise.all(
      [...bySlot].map(async ([slot, parts]) => {
        const bytes = parts.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
        const { applied, kept, keyless } = await local.ask<AppliedParts>(slot, { what: "apply", parts }, bytes);
        this.counters.applied += applied;
        this.counters.kept += kept;
        const without = new Set(keyless);
        for (const [index, { subject, id }] of parts.entries()) {
          if (without.has(index)) this.#noteAgain(subject, id);
          else this.#again.delete(subject);
        }
      }),
    );
  }

  #open(message: StreamMessage): (ArrivedPart & { readonly subject: string }) | undefined {
    const { box, stream, logger } = this.#options;
    const { subject, sequence, body } = message;
    try {
      const names = subjectNames(stream.prefix, subject);
      if (names === undefined) throw new Error("its subject is not of a minion's data");
      const opened = openPart(box, subject, body, this.#version);
      if ("data" in opened) return { ...names, subject, sequence, ...opened };
      this.#noteUnread(sequence, opened.otherVersion);
    } catch (error) {
      if (!this.#isIgnoring) logger.warn({ err: error, subject }, "a message with minions' data is ignored");
      this.#isIgnoring = true;
    }
    this.counters.ignored += 1;
    this.#again.delete(subject);
    return undefined;
  }

  /** One place is enough, because the stream has one message of each subject and a second reading changes nothing. */
  #noteUnread(sequence: number, otherVersion: number): void {
    const known = this.#version;
    if (this.#otherVersion !== otherVersion) {
      const older = otherVersion > known ? "this member" : "the member that sends it";
      const text = `minions' data has version ${otherVersion}, and this member reads version ${known}: upgrade ${older}`;
      this.#options.logger.warn({ version: otherVersion, known }, text);
    }
    this.#otherVersion = otherVersion;
    const place = this.#place;
    if (place === undefined || (place.unread !== undefined && place.unread.seq <= sequence)) return;
    this.#place = { ...place, unread: { seq: sequence, version: known } };
  }

  #noteAgain(subject: string, id: string): void {
    if (this.#again.size < sharedKeylessMax || this.#again.has(subject)) this.#again.set(subject, id);
    else this.counters.dropped += 1;
  }

  /** Takes what came before the minion's key did, or while a part was on its way with an unknown outcome. */
  async #takeAgain(stream: MinionStream): Promise<void> {
    const { isAccepted, logger } = this.#options;
    if (this.#isTakingAgain) return;
    this.#isTakingAgain = true;
    const due = [...this.#again].filter(([, id]) => isAccepted(id)).map(([subject]) => subject);
    try {
      for (const subject of due) {
        const message = await stream.last(subject);
        if (message === undefined) this.#again.delete(subject);
        else await this.#apply([message]);
      }
    } catch (error) {
      if (!this.#ending.signal.aborted)
        logger.warn({ err: error }, "minions' data that came early could not be read again");
    }
    this.#isTakingAgain = false;
  }

  /** Marks what this member had before it joined. */
  async #markAll(): Promise<void> {
    const { local } = this.#options;
    if (this.#place === undefined || this.#place.isMarked) return;
    for (let slot = 0; slot < local.slotCount; slot += 1) {
      for (const part of partNames) {
        let after: string | undefined;
        do after = await local.ask<string | undefined>(slot, { what: "markAll", part, after }, 0);
        while (after !== undefined);
      }
    }
    this.#place = { ...this.#place, isMarked: true };
    await this.#save();
  }

  async #save(): Promise<void> {
    if (this.#place === undefined) return;
    this.#savedMs = performance.now();
    await this.#options.local.ask(0, { what: "setPlace", place: this.#place }, 0);
  }
}
