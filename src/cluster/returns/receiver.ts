/**
 * Reads the returns that other members have sent, and remembers how far it has read. Sees to it that the streams have this member's own returns, too: after a
 * start and after refusals it has those sent again that they may lack.
 */
import type { Logger } from "pino";
import { hasCode } from "../../errors.ts";
import {
  returnEventAgeMs,
  returnFaultLogMs,
  returnPlacesSaveMs,
  returnRepairMarginMs,
  returnSendMs,
  returnStreamAgeMs,
} from "../../limits.ts";
import type { ClusterConnection } from "../connection.ts";
import { clusterNames } from "../names.ts";
import { isStreamMissing } from "../stream-identity.ts";
import { type ReceivedMessage, StreamFollower } from "./follower.ts";
import { decodeReturns, pieceIn, type SharedReturn, senderIn } from "./message.ts";
import { Pieces } from "./pieces.ts";
import { type Place, readPlaces, writePlaces } from "./places.ts";
import { ensureReturnStreams } from "./streams.ts";

export type ReceiverOptions = {
  readonly clients: Pick<ClusterConnection, "jetstream" | "manager" | "seal">;
  readonly clusterId: string;
  /** The member's name. */
  readonly member: string;
  readonly replicas: number;
  readonly placesFile: string;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Stores returns of other members. `isNews`: they are to fire events. Rejects if it cannot: then it gets them again. */
  readonly store: (returns: readonly SharedReturn[], isNews: boolean) => Promise<void>;
  /** How many batches of this member were refused because the cluster did not take them. */
  readonly refusals: () => number;
  /** Sends the returns again that this member took since then. If it rejects, it goes on there when it is called next, unless `isNew`. @returns how many */
  readonly repair: (sinceMs: number, isNew: boolean) => Promise<number>;
};

/** `ownUntil`: a member without a place may have lost its own returns, too, so that it takes them up to there. */
type Followed = { readonly follower: StreamFollower; readonly pieces: Pieces; readonly ownUntil: () => number };
/** Sends again what this member took since `sinceMs`. `isShort`: returns were refused after it began, which it may have passed. */
type Repair = { readonly sinceMs: number; readonly startMs: number; isBegun: boolean; isShort: boolean };

export class ReturnReceiver {
  readonly counters = { messages: 0, returns: 0, own: 0, malformed: 0, failures: 0, repaired: 0 };
  readonly #options: ReceiverOptions;
  readonly #followed: readonly Followed[];
  #settledMs: number;
  #refusals: number;
  #isRepairDue: boolean;
  #repairing: Repair | undefined;
  /** Streams that cannot be read, and when a warning last said so, on the steady clock. */
  readonly #failing = new Map<string, number>();
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    const places = readPlaces(options.placesFile);
    const nowMs = Date.now();
    this.#settledMs = places?.settledMs ?? nowMs;
    this.#isRepairDue = places !== undefined;
    this.#refusals = options.refusals();
    this.#followed = clusterNames(options.clusterId).returnStreams.map((name) =>
      this.#follow(name, places?.streams[name]),
    );
    this.#lookSoon();
  }

  /** Makes missing streams, then reads all. @throws errors of NATS while it does not answer */
  static async open(options: ReceiverOptions): Promise<ReturnReceiver> {
    const { clients, clusterId, replicas } = options;
    await ensureReturnStreams(clients.manager, clusterNames(clusterId).returnStreams, replicas);
    return new ReturnReceiver(options);
  }

  /** Messages that are not read yet, per stream. */
  get lags(): readonly { readonly stream: string; readonly messages: number }[] {
    return this.#followed.map(({ follower }) => ({ stream: follower.name, messages: follower.lag }));
  }

  /** Messages that the streams dropped before this member read them, and large ones whose pieces did not all come. */
  get lostCount(): number {
    const lost = ({ follower, pieces }: Followed) => follower.counters.lost + pieces.counters.dropped;
    return this.#followed.reduce((sum, one) => sum + lost(one), 0);
  }

  /** Resolves when nothing is being stored any more and the places are written. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#followed.map(({ follower }) => follower.close()));
    this.#save();
  }

  #follow(name: string, place: Place | undefined): Followed {
    const pieces = new Pieces();
    let ownUntil = place?.ownUntil ?? 0;
    const follower = new StreamFollower({
      clients: this.#options.clients,
      ...{ name, place },
      take: (messages) => this.#take(name, messages, pieces, ownUntil),
      onNew: (lastSequence) => {
        ownUntil = lastSequence;
      },
      onLoss: (sinceMs, what) => {
        this.#options.logger.warn({ stream: name }, `${what}: this member sends its returns again`);
        this.#settledMs = Math.min(this.#settledMs, Math.max(sinceMs, Date.now() - returnStreamAgeMs));
        this.#isRepairDue = true;
        this.#repairing = undefined;
      },
      onFault: (error) => this.#noteFault(name, error),
    });
    return { follower, pieces, ownUntil: () => ownUntil };
  }

  /** What comes behind a message of a later release waits until this member is upgraded. */
  #take(stream: string, messages: readonly ReceivedMessage[], pieces: Pieces, ownUntil: number): () => Promise<void> {
    const nowMs = Date.now();
    const news: SharedReturn[] = [];
    const old: SharedReturn[] = [];
    let unreadable: unknown;
    for (const message of messages) {
      const into = nowMs - message.timeMs < returnEventAgeMs ? news : old;
      try {
        for (const one of this.#read(stream, message, pieces, ownUntil)) into.push(one);
      } catch (error) {
        if (!hasCode(error, "CLUSTER_REFUSED")) throw error;
        unreadable = error;
        break;
      }
    }
    let count = old.length + news.length;
    return async () => {
      if (old.length > 0) await this.#options.store(old, false);
      old.length = 0;
      if (news.length > 0) await this.#options.store(news, true);
      news.length = 0;
      this.counters.returns += count;
      count = 0;
      if (unreadable !== undefined) throw unreadable;
      pieces.noteStored();
      this.counters.messages += messages.length;
      this.#noteSuccess(stream);
    };
  }

  /** @throws SaltworksError CLUSTER_REFUSED if a later release made it */
  #read(
    stream: string,
    { bytes: received, sequence, timeMs }: ReceivedMessage,
    pieces: Pieces,
    ownUntil: number,
  ): readonly SharedReturn[] {
    try {
      const bytes = this.#options.clients.seal?.open("returns", stream, received) ?? received;
      if (senderIn(bytes) === this.#options.member && sequence > ownUntil) {
        this.counters.own += 1;
        return [];
      }
      const piece = pieceIn(bytes);
      const whole = piece === undefined ? bytes : pieces.add(piece, sequence, timeMs);
      return whole === undefined ? [] : decodeReturns(whole);
    } catch (error) {
      if (!hasCode(error, "WIRE_MALFORMED")) throw error;
      this.counters.malformed += 1;
      return [];
    }
  }

  #lookSoon(): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => {
        if (!this.#isClosed) this.#lookSoon();
      });
    }, returnPlacesSaveMs);
  }

  async #look(): Promise<void> {
    const startMs = Date.now();
    const looked = await Promise.allSettled(this.#followed.map(({ follower }) => follower.look()));
    const isWell = looked.every(({ status }) => status === "fulfilled");
    // A clock that was set back must not hide returns.
    this.#settledMs = Math.min(this.#settledMs, startMs);
    const refusals = this.#options.refusals();
    const areRefused = refusals !== this.#refusals;
    this.#refusals = refusals;
    this.#isRepairDue ||= areRefused;
    if (this.#repairing !== undefined) this.#repairing.isShort ||= areRefused;
    if (looked.some((one) => one.status === "rejected" && isStreamMissing(one.reason))) await this.#makeStreams();
    if (!this.#isRepairDue) this.#settledMs = startMs - 2 * returnSendMs;
    else if (isWell && !areRefused && !this.#isClosed) await this.#repair(startMs);
    this.#save();
  }

  async #makeStreams(): Promise<void> {
    const { clients, clusterId, logger, replicas } = this.#options;
    try {
      await ensureReturnStreams(clients.manager, clusterNames(clusterId).returnStreams, replicas);
      logger.warn("streams of returns were gone, and are made anew");
    } catch (error) {
      this.counters.failures += 1;
      logger.warn({ err: error }, "streams of returns are gone, and cannot be made yet");
    }
  }

  async #repair(startMs: number): Promise<void> {
    const sinceMs = this.#settledMs - returnRepairMarginMs;
    if (this.#repairing?.sinceMs !== sinceMs) this.#repairing = { sinceMs, startMs, isBegun: false, isShort: false };
    const repairing = this.#repairing;
    try {
      const isNew = !repairing.isBegun;
      repairing.isBegun = true;
      const count = await this.#options.repair(sinceMs, isNew);
      // A stream may have lost messages meanwhile.
      if (this.#repairing === repairing) {
        this.#isRepairDue = repairing.isShort;
        this.#settledMs = repairing.startMs - 2 * returnSendMs;
        this.#repairing = undefined;
      }
      this.counters.repaired += count;
      if (count > 0) this.#options.logger.info({ count }, "sent returns to the cluster that it may have lacked");
    } catch (error) {
      this.counters.failures += 1;
      this.#options.logger.warn({ err: error }, "returns that the cluster may lack are not sent yet");
    }
  }

  #save(): void {
    const streams: Record<string, Place> = {};
    for (const { follower, pieces, ownUntil } of this.#followed) {
      const { place } = follower;
      if (place === undefined) continue;
      const sequence = Math.min(place.sequence, (pieces.firstSequence ?? Number.POSITIVE_INFINITY) - 1);
      streams[follower.name] = { ...place, sequence, ...(ownUntil() > sequence ? { ownUntil: ownUntil() } : {}) };
    }
    try {
      writePlaces(this.#options.placesFile, { settledMs: this.#settledMs, streams });
    } catch (error) {
      this.counters.failures += 1;
      this.#options.logger.warn({ err: error }, "how far the returns of the cluster are read cannot be noted");
    }
  }

  #noteFault(stream: string, error: unknown): void {
    this.counters.failures += 1;
    const nowMs = performance.now();
    if (nowMs - (this.#failing.get(stream) ?? Number.NEGATIVE_INFINITY) < returnFaultLogMs) return;
    this.#failing.set(stream, nowMs);
    this.#options.logger.warn({ err: error, stream }, "returns of other members cannot be read, and are tried again");
  }

  #noteSuccess(stream: string): void {
    if (this.#failing.delete(stream)) this.#options.logger.info({ stream }, "returns of other members are read again");
  }
}
