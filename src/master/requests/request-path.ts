/**
 * Moves a request through the main thread: from its port into a worker's batch, and from the batch's result to the reply or to the part that answers
 * later. Each request gets at most one reply; an `_auth` that is given up gets none. docs/ARCHITECTURE.md, "A job's life".
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
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { keyOwner } from "../../workers/requests/key-owner.ts";
import { isOperatorCommand } from "../../workers/requests/operator-refusal.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { mayBeLarge } from "../admission/large-request.ts";
import { refusedUnread } from "../admission/refused-unread.ts";
import type { Route } from "../admission/route.ts";
import type { FileAnswers } from "../answers/files.ts";
import type { MineAnswers } from "../answers/mines.ts";
import type { Peers } from "../answers/peers.ts";
import { TopAnswers } from "../answers/tops.ts";
import type { Audit } from "../audit/audit.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { RefusalLog } from "../log/refusal-log.ts";
import type { Commands } from "../operators/commands.ts";
import type { OperatorConnection } from "../operators/connection.ts";
import type { Pillars } from "../pillars/pillars.ts";
import type { Bus } from "../ports/bus.ts";
import { portOptions } from "../ports/endpoint.ts";
import type { OpenedPorts } from "../ports/port-check.ts";
import type { RequestConnection } from "../ports/request-connection.ts";
import { RequestFront } from "../ports/request-front.ts";
import type { Presence } from "../presence/presence.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import type { KeyManagement } from "../upkeep/key-management.ts";
import { AuthResponder } from "./auth-responder.ts";
import { Batcher } from "./batcher.ts";
import { OwedAnswers } from "./owed-answers.ts";

export type RequestPathParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly start: WorkerStart;
  readonly bus: Bus;
  readonly pool: WorkerPool;
  readonly rsa: LanePool;
  /** Runs the commands of `master_tops`. */
  readonly sources: LanePool;
  readonly partitioner: Partitioner;
  readonly openedPorts: OpenedPorts;
  readonly audit: Pick<Audit, "wrongKey"> | undefined;
  readonly sidecar: OpenSidecar | undefined;
};

/** The parts that take the results of a batch. */
export type RequestPathEnds = {
  readonly presence: Presence;
  readonly jobs: Jobs;
  readonly keyManagement: KeyManagement;
  readonly pillars: Pick<Pillars, "answer">;
  readonly mines: Pick<MineAnswers, "answer">;
  readonly files: Pick<FileAnswers, "answer">;
  readonly peers: Pick<Peers, "answer">;
  readonly commands: Commands;
};

const owingSentence =
  "an address does not finish its requests: for a while its unproven connections may not send large requests";

export class RequestPath {
  readonly batcher: Batcher;
  readonly authResponder: AuthResponder;
  readonly #parts: RequestPathParts;
  readonly #ends: RequestPathEnds;
  readonly #answers: OwedAnswers;
  readonly #tops: TopAnswers;
  readonly #refusals: RefusalLog;
  readonly #isProxy: (address: string) => boolean;
  #front: RequestFront | undefined;

  constructor(parts: RequestPathParts, ends: RequestPathEnds) {
    this.#parts = parts;
    this.#ends = ends;
    this.#tops = new TopAnswers(parts);
    const { rsa, start, logger } = parts;
    this.#refusals = new RefusalLog(logger, Date.now);
    this.#isProxy = networkMatcher(parts.config.trusted_proxies);
    const reply = (connection: RequestConnection, frame: Uint8Array) => this.#reply(connection, frame);
    const forget = (connection: RequestConnection) => this.#front?.forget(connection);
    this.#answers = new OwedAnswers({ reply, logger });
    this.authResponder = new AuthResponder({
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
      memory: this.batcher.memory,
      isProxy: this.#isProxy,
      mayBeLarge: (start, bytes) => bytes <= hugeRequestBytes || (this.batcher.takesHuge && mayBeLarge(start)),
      onRequest: (connection, frame) => this.#receive(connection, frame),
      onOwing: (address) => this.#refusals.note({ address }, owingSentence),
      onFault,
    });
  }

  /** Stops reading. Resolves when every request read so far is answered. */
  async drain(): Promise<void> {
    this.#front?.stopReceiving();
    await this.batcher.idle();
    await this.#answers.settled();
  }

  async close(): Promise<void> {
    await this.#front?.close();
  }

  #receive(connection: RequestConnection, frame: Buffer): void {
    this.batcher.offer(connection, frame);
    for (const readers of peerGroupNames) if (this.batcher.holdsBack(readers)) this.#front?.pause(readers);
  }

  #reply(connection: RequestConnection, payload: Uint8Array): void {
    this.#front?.reply(connection, payload);
  }

  #takeResult(result: BatchResult): void {
    const { keyManagement, presence, jobs } = this.#ends;
    if (result.accepted.length > 0) keyManagement.noteAccepted(result.accepted);
    presence.noteContacts(result.contacts);
    for (const { id, text, level } of result.refusals) this.#refusals.note({ id }, text, level);
    if (result.eventCount > 0)
      this.#parts.bus.publishFrames(new Uint8Array(result.buffer, result.eventsStart), result.eventCount);
    // After the events, so that the end of a job follows its last return.
    jobs.noteResult(result);
  }

  /** An operator's command without a right key. One that brings a login has no line: its login is unread. */
  #refuseUnread(route: Route, connection: RequestConnection): void {
    this.#reply(connection, refusedUnread(route));
    const head = route.kind === "clear" ? route.head : undefined;
    if (!isOperatorCommand(head?.cmd) || head.login !== undefined) return;
    const user = head.user ?? this.#parts.config.user;
    this.#parts.audit?.wrongKey({ command: head.cmd, user, fun: "" }, connection.address);
  }

  #takeDeferred(work: Deferred, connection: RequestConnection): void {
    switch (work.kind) {
      case "forward":
        this.batcher.offerOpened(connection, work);
        break;
      case "rsa":
        this.#answers.owe(connection, this.#parts.rsa.run<Uint8Array>(work.task));
        break;
      case "pillar":
        this.#answers.owe(connection, this.#ends.pillars.answer(work));
        break;
      case "mineGet":
        this.#answers.owe(connection, this.#ends.mines.answer(work.ask));
        break;
      case "files":
        this.#answers.owe(connection, this.#ends.files.answer(work, connection));
        break;
      case "peer":
        this.#answers.owe(connection, this.#ends.peers.answer(work.ask));
        break;
      case "tops":
        this.#answers.owe(connection, this.#tops.answer(work));
        break;
      case "publish":
      case "command":
      case "makeToken":
      case "readToken":
        this.#answers.oweBy(connection, (reply) =>
          this.#ends.commands.answer(work, reply, this.#operatorConnection(connection)),
        );
        break;
    }
  }

  #operatorConnection(connection: RequestConnection): OperatorConnection {
    return { address: connection.address, prove: () => this.#front?.prove(connection) };
  }

  #answerAuths(auths: AuthBatch, connections: readonly (RequestConnection | undefined)[]): Promise<void> {
    const answered = this.authResponder.answer(auths, connections);
    this.#answers.track(answered);
    return answered;
  }

  #createBatcher(): Batcher {
    const { config, logger, pool, partitioner, bus, start } = this.#parts;
    const { presence, jobs } = this.#ends;
    const keys = openKeyDirectories(config.pki_dir);
    const minionsMax = config.max_minions;
    return new Batcher({
      pool,
      partitioner,
      framesMax: config.batch_max_frames,
      bytesMax: config.batch_max_bytes,
      auths: {
        // Two batches for each RSA thread: one is computed while the next waits. The workers share them.
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
      reply: (connection, payload) => this.#reply(connection, payload),
      forget: (connection) => this.#front?.forget(connection),
      prove: (connection) => this.#front?.prove(connection),
      standing: {
        isAccepted: (id) => start.accepted.has(id),
        hasRightKey: (user, key) => keyOwner(start, user, key) !== undefined,
      },
      addresses: {
        isProxy: this.#isProxy,
        hasProven: (address) => this.#front?.hasProven(address) ?? false,
      },
      isOverMinionsMax: (id) => minionsMax > 0 && !presence.isHere(id) && presence.hereCount > minionsMax,
      isHeard: () => bus.isHeard || jobs.isListening,
      isFollowed: () => jobs.isListening,
      onContact: (id) => {
        presence.noteContact(id);
        jobs.deliveries.noteContact(id);
      },
      onResult: (result) => this.#takeResult(result),
      onDeferred: (work, connection) => this.#takeDeferred(work, connection),
      onWrongKey: (wrong, connection) => this.#parts.audit?.wrongKey(wrong, connection.address),
      refuseUnread: (route, connection) => this.#refuseUnread(route, connection),
      onAuths: (auths, connections) => this.#answerAuths(auths, connections),
      onFault: (error) => logger.error({ err: error }, "a batch was answered with an error"),
    });
  }
}

/** The known key of an id. An unreadable key counts as unknown here; the worker that decides the `_auth` reads it again and meets the error. */
function knownKey(keys: Pick<KeyDirectories, "read">, id: string): string | undefined {
  try {
    return keys.read("accepted", id) ?? keys.read("pending", id);
  } catch (error) {
    if (!hasCode(error, "STORE_FAILED")) throw error;
    return undefined;
  }
}
