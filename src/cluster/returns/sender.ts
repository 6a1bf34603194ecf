/**
 * Sends returns to the cluster's streams, which other members read. A message goes to the next stream that answers: the order between streams does not
 * matter, because a return is known by job and minion. docs/decisions/0048-cluster-returns.md.
 */
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { JetStreamError } from "@nats-io/jetstream";
import { type ErrorDetail, SaltworksError } from "../../errors.ts";
import {
  clusterRetryMs,
  returnAckMs,
  returnLargeSendMs,
  returnMessageBytesMax,
  returnPiecesBytesMax,
  returnPiecesUnderWayMax,
  returnSendMs,
  returnStreamRestMs,
} from "../../limits.ts";
import { type ClusterConnection, connectCluster, noteLoss, type ServerAccess, serversOf } from "../connection.ts";
import { clusterNames } from "../names.ts";
import { encodeReturns, piecesOf, returnBytesMax, type SharedReturn } from "./message.ts";

type Sender = { readonly clusterId: string; readonly member: string };
/** `member`: the member's name. `servers`: to which it connects, for messages. */
export type SenderOptions = Sender & { readonly servers: string };
/** What a thread needs for a connection of its own. It can be sent to a thread. */
export type SenderStart = Sender & ServerAccess;
type Connect = (
  name: string,
  signal: AbortSignal,
) => Promise<Pick<ClusterConnection, "close" | "jetstream" | "nats" | "seal">>;

/** @returns a sender with a connection of its own */
export function openReturnSender(start: SenderStart, onLost: OnLost): ReturnSender {
  const waitMs = Number.POSITIVE_INFINITY;
  const connect: Connect = (name, signal) => connectCluster({ ...start, name, waitMs, signal });
  return ReturnSender.open({ ...start, servers: serversOf(start) }, connect, onLost);
}

/** Called when the connection has ended by itself. The sender makes a new one. */
type OnLost = (error: SaltworksError) => void;

type Stream = {
  readonly name: string;
  restsUntilMs: number;
  /** Times in a row that it did not acknowledge. */
  failures: number;
};

/** A message that is being sent. `isTaken`: a stream has acknowledged pieces of it. */
type Sending = {
  readonly pieces: readonly Buffer[];
  /** The last moment at which a wait for an acknowledgement may begin. */
  readonly lastStartMs: number;
  isTaken: boolean;
};

/** Wait of a batch while all streams rest. */
const lookMs = 50;
/** Bytes that name a probe. */
const probeNameBytes = 16;

export class ReturnSender {
  /** `retried`: messages that another stream had to take. `tooLarge`: returns that only this member keeps. */
  readonly counters = { sent: 0, refused: 0, messages: 0, bytes: 0, retried: 0, tooLarge: 0 };
  readonly #member: string;
  readonly #servers: string;
  readonly #streams: readonly Stream[];
  readonly #ending = new AbortController();
  #next = 0;
  /** No stream took a batch, or none was asked yet. Batches are refused at once, so that other requests go on, until a probe is acknowledged. */
  #isDown = true;
  #isProbing = false;
  #connection: Awaited<ReturnType<Connect>> | undefined;
  #isConnected = false;

  private constructor({ clusterId, member, servers }: SenderOptions) {
    this.#member = member;
    this.#servers = servers;
    this.#streams = clusterNames(clusterId).returnStreams.map((name) => ({ name, restsUntilMs: 0, failures: 0 }));
    // Members and their threads begin with different streams.
    this.#next = Math.floor(Math.random() * this.#streams.length);
  }

  /** Connects as soon as the server answers. Until then it refuses returns. */
  static open(options: SenderOptions, connect: Connect, onLost: OnLost = () => undefined): ReturnSender {
    const sender = new ReturnSender(options);
    void sender.#stayConnected(connect, onLost);
    return sender;
  }

  /**
   * Resolves when the cluster has all returns.
   *
   * @throws SaltworksError CLUSTER_UNAVAILABLE if no stream acknowledged in time: it may have some of them. `isSlow` in its detail if streams
   * acknowledged pieces of a large return, but not all in time
   */
  async send(returns: readonly SharedReturn[]): Promise<void> {
    try {
      await Promise.all(groupsOf(this.#sendable(returns)).map((group) => this.#sendGroup(group)));
      this.counters.sent += returns.length;
    } catch (error) {
      this.counters.refused += returns.length;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#connection?.close();
  }

  /** Connects, and again each time that the connection has ended by itself. */
  async #stayConnected(connect: Connect, onLost: OnLost): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      let connection: Awaited<ReturnType<Connect>>;
      try {
        connection = await connect(`${this.#member} returns`, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      if (signal.aborted) return await connection.close();
      noteLoss(connection, signal, onLost);
      await this.#use(connection);
      this.#isConnected = false;
      this.#connection = undefined;
      // Rejects at the end, which is asked for here.
      await pause(clusterRetryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Resolves when the connection has ended. */
  async #use(connection: Awaited<ReturnType<Connect>>): Promise<void> {
    this.#connection = connection;
    this.#isConnected = true;
    this.#wakeStreams();
    this.#probe();
    for await (const { type } of connection.nats.status()) {
      if (type === "disconnect") this.#isConnected = false;
      if (type !== "reconnect") continue;
      this.#isConnected = true;
      this.#wakeStreams();
    }
    await connection.nats.closed();
  }

  #wakeStreams(): void {
    for (const stream of this.#streams) stream.restsUntilMs = 0;
  }

  /** Without returns that no member could put together. */
  #sendable(returns: readonly SharedReturn[]): readonly SharedReturn[] {
    const isSmall = (one: SharedReturn) => returnBytesMax(one) < returnPiecesBytesMax / 2;
    if (returns.every(isSmall)) return returns;
    const sendable = returns.filter(isSmall);
    this.counters.tooLarge += returns.length - sendable.length;
    return sendable;
  }

  async #sendGroup(group: readonly SharedReturn[]): Promise<void> {
    const message = encodeReturns(this.#member, group);
    const pieces = piecesOf(this.#member, message, returnMessageBytesMax);
    const sendMs = pieces.length > 1 ? returnLargeSendMs : returnSendMs;
    const sending: Sending = { pieces, lastStartMs: performance.now() + sendMs - returnAckMs, isTaken: false };
    let fault: unknown = new Error("no stream answers");
    for (let tries = 0; ; tries += 1) {
      const stream = await this.#nextStream(sending);
      if (stream === undefined) {
        // A large return that is slow does not make the others wait for a probe.
        if (sending.isTaken && !this.#isDown) throw unavailable(fault, { isSlow: true });
        this.#isDown = true;
        this.#probe();
        throw unavailable(fault);
      }
      if (tries > 0) this.counters.retried += 1;
      try {
        if (await this.#publish(stream, sending)) return;
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        fault = error;
        rest(stream);
        continue;
      }
      throw unavailable(new Error("a large return takes too long"), { isSlow: true });
    }
  }

  /** Sends messages without returns to all streams, until one acknowledges. */
  #probe(): void {
    if (this.#isProbing || this.#connection === undefined) return;
    this.#isProbing = true;
    void this.#probeUntilUp().finally(() => {
      this.#isProbing = false;
    });
  }

  async #probeUntilUp(): Promise<void> {
    const message = encodeReturns(this.#member, []);
    while (this.#isDown && !this.#ending.signal.aborted) {
      await Promise.all(this.#streams.map((stream) => this.#probeStream(stream, message)));
      if (this.#isDown) await pause(clusterRetryMs);
    }
  }

  async #probeStream(stream: Stream, message: Buffer): Promise<void> {
    const { jetstream: client, seal } = this.#connection ?? {};
    if (client === undefined) return;
    try {
      const msgID = randomBytes(probeNameBytes).toString("base64url");
      const sealed = seal?.seal("returns", stream.name, message) ?? message;
      await client.publish(stream.name, sealed, { msgID, timeout: returnAckMs });
      stream.restsUntilMs = 0;
      stream.failures = 0;
      this.#isDown = false;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      rest(stream);
    }
  }

  /** The next stream that does not rest. Waits for one unless the cluster is down. @returns undefined if the returns must be refused */
  async #nextStream({ lastStartMs }: Sending): Promise<Stream | undefined> {
    for (;;) {
      const nowMs = performance.now();
      if (this.#isDown || nowMs > lastStartMs || this.#ending.signal.aborted) return undefined;
      for (let step = 0; this.#isConnected && step < this.#streams.length; step += 1) {
        const stream = this.#streams[this.#next];
        this.#next = (this.#next + 1) % this.#streams.length;
        if (stream !== undefined && stream.restsUntilMs <= nowMs) return stream;
      }
      await pause(lookMs);
    }
  }

  /** Publishes all pieces to one stream, in order, because a reader puts them together. @returns false if the time is over */
  async #publish(stream: Stream, sending: Sending): Promise<boolean> {
    const { pieces, lastStartMs } = sending;
    for (let at = 0; at < pieces.length; at += returnPiecesUnderWayMax) {
      if (at > 0 && performance.now() > lastStartMs) return false;
      const some = pieces.slice(at, at + returnPiecesUnderWayMax);
      await Promise.all(some.map((piece) => this.#publishPiece(stream, piece)));
      sending.isTaken = true;
    }
    stream.failures = 0;
    return true;
  }

  async #publishPiece(stream: Stream, piece: Buffer): Promise<void> {
    const client = this.#connection?.jetstream;
    if (client === undefined) throw new Error(`${this.#servers} does not answer`);
    this.counters.messages += 1;
    this.counters.bytes += piece.byteLength;
    const seal = this.#connection?.seal;
    const msgID = seal?.nameOf(piece) ?? createHash("sha256").update(piece).digest("base64url");
    const message = seal?.seal("returns", stream.name, piece) ?? piece;
    const ack = await client.publish(stream.name, message, { msgID, timeout: returnAckMs });
    if (ack.stream !== stream.name) throw new JetStreamError(`acknowledged by ${ack.stream}`);
  }
}

function rest(stream: Stream): void {
  const { first, longest } = returnStreamRestMs;
  stream.restsUntilMs = performance.now() + Math.min(longest, first * 2 ** Math.min(stream.failures, 10));
  stream.failures += 1;
}

/** Splits returns into messages of up to `returnMessageBytesMax`. A larger return is alone. */
function groupsOf(returns: readonly SharedReturn[]): SharedReturn[][] {
  const groups: SharedReturn[][] = [];
  let bytesLeft = 0;
  for (const one of returns) {
    const bytes = returnBytesMax(one);
    const group = groups.at(-1);
    if (group === undefined || bytes > bytesLeft) {
      groups.push([one]);
      bytesLeft = returnMessageBytesMax - headRoomBytes;
    } else group.push(one);
    bytesLeft -= bytes;
  }
  return groups;
}

/** Room for a message's head: a name of up to 255 characters. */
const headRoomBytes = 1_024;

function unavailable(cause: unknown, detail: ErrorDetail = {}): SaltworksError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SaltworksError("CLUSTER_UNAVAILABLE", `the cluster did not take returns: ${why}`, detail, { cause });
}
