/**
 * The way of a request through the main thread: from its port into a batch for a worker, and from the worker's result to the part that goes on with it.
 * Each request gets one reply. docs/ARCHITECTURE.md, "A job's life".
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { networkMatcher } from "../../config/options/networks.ts";
import { hasCode } from "../../errors.ts";
import { hugeRequestBytes } from "../../limits.ts";
import { type KeyDirectories, openKeyDirectories } from "../../store/keys/keys.ts";
import { peerGroupNames } from "../../transport/zmtp/peer-group.ts";
import type { AuthBatch, BatchResult } from "../../workers/messages/batch.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { ShardStart } from "../../workers/messages/shard.ts";
import { keyOwner } from "../../workers/requests/key-owner.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { ShardPool } from "../../workers/threads/pool.ts";
import type { FileAnswers } from "../answers/files.ts";
import type { MineAnswers } from "../answers/mines.ts";
import type { Peers } from "../answers/peers.ts";
import type { JobKeeping } from "../jobs/keeping.ts";
import { RefusalLog } from "../log/refusal-log.ts";
import type { Commands } from "../operators/commands.ts";
import type { Connection } from "../operators/connection.ts";
import type { Pillars } from "../pillars/pillars.ts";
import type { Bus } from "../ports/bus.ts";
import { portOptions } from "../ports/endpoint.ts";
import type { OpenedPorts } from "../ports/port-check.ts";
import { RequestFront } from "../ports/request-front.ts";
import type { RequestPeer } from "../ports/request-peer.ts";
import type { KeyRing } from "../upkeep/key-ring.ts";
import type { Presence } from "../upkeep/presence.ts";
import { mayBeLarge } from "../waiting/large-request.ts";
import { AuthLane } from "./auth-lane.ts";
import { Batcher } from "./batcher.ts";
import { OwedAnswers } from "./owed-answers.ts";

export type RequestPathParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly start: ShardStart;
  readonly bus: Bus;
  readonly pool: ShardPool;
  readonly rsa: LanePool;
  readonly partitioner: Partitioner;
  readonly openedPorts: OpenedPorts;
};

/** The parts that go on with the results of a batch. */
export type RequestPathEnds = {
  readonly presence: Presence;
  readonly keeping: JobKeeping;
  readonly keyRing: KeyRing;
  readonly pillars: Pick<Pillars, "answer">;
  readonly mines: Pick<MineAnswers, "answer">;
  readonly files: Pick<FileAnswers, "answer">;
  readonly peers: Pick<Peers, "answer">;
  readonly commands: Commands;
};

const owingSentence =
  "an address begins requests that it does not finish: its unproven connections may not send large ones for a while";

export class RequestPath {
  readonly batcher: Batcher;
  readonly authLane: AuthLane;
  readonly #parts: RequestPathParts;
  readonly #ends: RequestPathEnds;
  readonly #answers: OwedAnswers;
  readonly #refusals: RefusalLog;
  #front: RequestFront | undefined;

  constructor(parts: RequestPathParts, ends: RequestPathEnds) {
    this.#parts = parts;
    this.#ends = ends;
    const { rsa, start, logger } = parts;
    this.#refusals = new RefusalLog(logger, Date.now);
    const reply = (peer: RequestPeer, frame: Uint8Array) => this.#reply(peer, frame);
    const forget = (peer: RequestPeer) => this.#front?.forget(peer);
    this.#answers = new OwedAnswers({ reply, logger });
    this.authLane = new AuthLane({
      rsa,
      keys: () => start.keys,
      reply,
      forget,
      onFault: (error) => logger.error({ err: error }, "authentications could not be answered"),
    });
    this.batcher = this.#createBatcher();
  }

  /** Undefined until its port is bound. */
  get front(): RequestFront | undefined {
    return this.#front;
  }

  /** Binds the request port. @throws SaltworksError MASTER_RUNNING */
  async open(onFault: (error: Error) => void): Promise<void> {
    const { config } = this.#parts;
    this.#front = await RequestFront.bind({
      host: config.interface,
      port: config.ret_port,
      descriptor: this.#parts.openedPorts.get("ret_port"),
      ...portOptions(config),
      messageBytesMax: config.request_max_bytes,
      isProxy: networkMatcher(config.trusted_proxies),
      mayBeLarge: (start, bytes) => bytes <= hugeRequestBytes || (this.batcher.takesHuge && mayBeLarge(start)),
      onRequest: (peer, frame) => this.#receive(peer, frame),
      onOwing: (address) => this.#refusals.note({ address }, owingSentence),
      onFault,
    });
  }

  /** Stops reading. Settles when everything that was read is answered. */
  async drain(): Promise<void> {
    this.#front?.stopReceiving();
    await this.batcher.idle();
    await this.#answers.settled();
  }

  async close(): Promise<void> {
    await this.#front?.close();
  }

  #receive(peer: RequestPeer, frame: Buffer): void {
    this.batcher.offer(peer, frame);
    for (const readers of peerGroupNames) if (this.batcher.holdsBack(readers)) this.#front?.pause(readers);
  }

  #reply(peer: RequestPeer, payload: Uint8Array): void {
    this.#front?.reply(peer, payload);
  }

  #takeResult(result: BatchResult): void {
    const { keyRing, presence, keeping } = this.#ends;
    if (result.accepted.length > 0) keyRing.noteAccepted(result.accepted);
    presence.noteContacts(result.contacts);
    for (const { id, text, level } of result.refusals) this.#refusals.note({ id }, text, level);
    if (result.eventCount > 0)
      this.#parts.bus.publishFrames(new Uint8Array(result.buffer, result.eventsStart), result.eventCount);
    // After the events, so that the end of a job follows its last return.
    keeping.noteResult(result);
  }

  #takeDeferred(work: Deferred, peer: RequestPeer): void {
    switch (work.kind) {
      case "forward":
        this.batcher.offerOpened(peer, work);
        break;
      case "rsa":
        this.#answers.owe(peer, this.#parts.rsa.run<Uint8Array>(work.task));
        break;
      case "pillar":
        this.#answers.owe(peer, this.#ends.pillars.answer(work));
        break;
      case "mineGet":
        this.#answers.owe(peer, this.#ends.mines.answer(work.ask));
        break;
      case "files":
        this.#answers.owe(peer, this.#ends.files.answer(work, peer));
        break;
      case "peer":
        this.#answers.owe(peer, this.#ends.peers.answer(work.ask));
        break;
      case "publish":
      case "command":
      case "makeToken":
      case "readToken":
        this.#answers.oweBy(peer, (reply) => this.#ends.commands.answer(work, reply, this.#connectionOf(peer)));
        break;
    }
  }

  #connectionOf(peer: RequestPeer): Connection {
    return { address: peer.address, prove: () => this.#front?.prove(peer) };
  }

  #answerAuths(auths: AuthBatch, peers: readonly (RequestPeer | undefined)[]): Promise<void> {
    const answered = this.authLane.answer(auths, peers);
    this.#answers.track(answered);
    return answered;
  }

  #createBatcher(): Batcher {
    const { config, logger, pool, partitioner, bus, start } = this.#parts;
    const { presence, keeping } = this.#ends;
    const keys = openKeyDirectories(config.pki_dir);
    const minionsMax = config.max_minions;
    return new Batcher({
      pool,
      partitioner,
      framesMax: config.batch_max_frames,
      bytesMax: config.batch_max_bytes,
      auths: {
        // One batch in each RSA thread and one on its way there.
        batchesPerSlotMax: Math.ceil((2 * config.rsa_threads) / pool.slotCount),
        authsMax: config.auth_queue_max,
        clientTimeoutMs: config.auth_client_timeout * 1_000,
        isAccepted: (id) => start.accepted.has(id),
        knownKey: (id) => knownKey(keys, id),
        nowMs: () => performance.now(),
      },
      lingerMs: Math.ceil(config.batch_linger_us / 1_000),
      batchesInFlightMax: config.batches_in_flight,
      queueBytesMax: config.queue_max_bytes,
      onRoom: (readers) => this.#front?.resume(readers),
      reply: (peer, payload) => this.#reply(peer, payload),
      forget: (peer) => this.#front?.forget(peer),
      prove: (peer) => this.#front?.prove(peer),
      standing: {
        isAccepted: (id) => start.accepted.has(id),
        hasRightKey: (user, key) => keyOwner(start, user, key) !== undefined,
      },
      isOverMinionsMax: (id) => minionsMax > 0 && !presence.isConnected(id) && presence.connectedCount > minionsMax,
      isHeard: () => bus.subscriberCount > 0 || keeping.isListening,
      isFollowed: () => keeping.isListening,
      onContact: (id) => {
        presence.noteContact(id);
        keeping.deliveries.noteContact(id);
      },
      onResult: (result) => this.#takeResult(result),
      onDeferred: (work, peer) => this.#takeDeferred(work, peer),
      onAuths: (auths, peers) => this.#answerAuths(auths, peers),
      onFault: (error) => logger.error({ err: error }, "a batch was answered with an error"),
    });
  }
}

/** One that cannot be read counts as none here: the lane that decides reads it again, and answers with the error. */
function knownKey(keys: Pick<KeyDirectories, "read">, id: string): string | undefined {
  try {
    return keys.read("accepted", id) ?? keys.read("pending", id);
  } catch (error) {
    if (!hasCode(error, "STORE_FAILED")) throw error;
    return undefined;
  }
}
