/**
 * Reads the returns that other members have sent, and remembers how far it has read. Sees to it that the streams have this member's own returns, too: after a
 * start and after refusals it has those sent again that they may lack.
 */
import type { Logger } from "pino";
import { hasCode } from "../../errors.ts";
import { returnEventAgeMs, returnPlacesSaveMs, returnRepairMarginMs, returnSendMs } from "../../limits.ts";
import type { ClusterConnection } from "../connection.ts";
import { clusterNames } from "../names.ts";
import { type ReceivedMessage, StreamFollower } from "./follower.ts";
import { decodeReturns, pieceIn, type SharedReturn, senderIn } from "./message.ts";
import { Pieces } from "./pieces.ts";
import { type Place, readPlaces, writePlaces } from "./places.ts";
import { ensureReturnStreams } from "./streams.ts";

export type ReceiverOptions = {
  readonly clients: Pick<ClusterConnection, "jetstream" | "manager">;
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
  /** Sends the returns again that this member took since then. @returns how many */
  readonly repair: (sinceMs: number) => Promise<number>;
};

type Followed = { readonly follower: StreamFollower; readonly pieces: Pieces };

export class ReturnReceiver {
  readonly counters = { messages: 0, returns: 0, own: 0, malformed: 0, failures: 0, repaired: 0 };
  readonly #options: ReceiverOptions;
  readonly #followed: readonly Followed[];
  #settledMs: number;
  #refusals: number;
  #isRepairDue: boolean;
  #isFailing = false;
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    const places = readPlaces(options.placesFile);
    const nowMs = Date.now();
    // A clock that was set back must not hide returns.
    this.#settledMs = Math.min(places?.settledMs ?? nowMs, nowMs);
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
    /** A member without a place may have lost its own returns, too, so that it takes them up to here. */
    let ownUntil = 0;
    const follower = new StreamFollower({
      clients: this.#options.clients,
      ...{ name, place },
      take: (messages) => this.#take(messages, pieces, () => ownUntil),
      onNew: (lastSequence) => {
        ownUntil = lastSequence;
      },
      onFault: (error) => this.#noteFault(name, error),
    });
    return { follower, pieces };
  }

  #take(messages: readonly ReceivedMessage[], pieces: Pieces, ownUntil: () => number): () => Promise<void> {
    const nowMs = Date.now();
    const news: SharedReturn[] = [];
    const old: SharedReturn[] = [];
    for (const message of messages) {
      const into = nowMs - message.timeMs < returnEventAgeMs ? news : old;
      for (const one of this.#read(message, pieces, ownUntil())) into.push(one);
    }
    return async () => {
      if (old.length > 0) await this.#options.store(old, false);
      if (news.length > 0) await this.#options.store(news, true);
      this.counters.messages += messages.length;
      this.counters.returns += old.length + news.length;
      this.#noteSuccess();
    };
  }

  #read({ bytes, sequence }: ReceivedMessage, pieces: Pieces, ownUntil: number): readonly SharedReturn[] {
    try {
      if (senderIn(bytes) === this.#options.member && sequence > ownUntil) {
        this.counters.own += 1;
        return [];
      }
      const piece = pieceIn(bytes);
      const whole = piece === undefined ? bytes : pieces.add(piece, sequence, Date.now());
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
    const refusals = this.#options.refusals();
    const areRefused = refusals !== this.#refusals;
    this.#refusals = refusals;
    this.#isRepairDue ||= areRefused;
    if (!this.#isRepairDue) this.#settledMs = startMs - 2 * returnSendMs;
    else if (isWell && !areRefused && !this.#isClosed) await this.#repair(startMs);
    this.#save();
  }

  async #repair(startMs: number): Promise<void> {
    try {
      const count = await this.#options.repair(this.#settledMs - returnRepairMarginMs);
      this.#isRepairDue = false;
      this.#settledMs = startMs - 2 * returnSendMs;
      this.counters.repaired += count;
      if (count > 0) this.#options.logger.info({ count }, "sent returns to the cluster that it may have lacked");
    } catch (error) {
      this.counters.failures += 1;
      this.#options.logger.warn({ err: error }, "returns that the cluster may lack are not sent yet");
    }
  }

  #save(): void {
    const streams: Record<string, Place> = {};
    for (const { follower, pieces } of this.#followed) {
      const { place } = follower;
      if (place === undefined) continue;
      const sequence = Math.min(place.sequence, (pieces.firstSequence ?? Number.POSITIVE_INFINITY) - 1);
      streams[follower.name] = { ...place, sequence };
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
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.logger.warn({ err: error, stream }, "returns of other members cannot be read, and are tried again");
  }

  #noteSuccess(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.logger.info("returns of other members are read again");
  }
}
