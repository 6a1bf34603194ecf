/** The running master: which part hands what to which. Everything here is wiring; each part has its own file. */
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import { openedSealCount } from "../crypto/crypticle.ts";
import { storeCloseTimeoutMs } from "../limits.ts";
import type { KeyChange } from "../store/keys.ts";
import type { MasterSecrets } from "../store/secrets.ts";
import { FrameReader, splitEvent } from "../wire/event.ts";
import { encodeRawReply } from "../wire/reply.ts";
import type { BatchResult, Deferred, ShardStart } from "../workers/messages.ts";
import type { Partitioner } from "../workers/partition.ts";
import type { LanePool, ShardPool } from "../workers/pool.ts";
import { keepPresencePing } from "../workers/shard.ts";
import { Batcher } from "./batcher.ts";
import type { Bus } from "./bus.ts";
import { Commands, ownJob } from "./commands.ts";
import { gatherCounters } from "./counters.ts";
import { endpointOf, portOptions } from "./endpoint.ts";
import { readFindJobAnswer } from "./find-job.ts";
import { JobTracker } from "./job-tracker.ts";
import { KeyRing } from "./key-ring.ts";
import { Maintenance } from "./maintenance.ts";
import { Presence } from "./presence.ts";
import { PublishFront } from "./publish-front.ts";
import { Publisher } from "./publisher.ts";
import { Refusals } from "./refusals.ts";
import { RequestFront } from "./request-front.ts";

export type MasterParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly start: ShardStart;
  readonly secrets: MasterSecrets;
  readonly bus: Bus;
  readonly pool: ShardPool;
  readonly rsa: LanePool;
  readonly runners: LanePool;
  readonly partitioner: Partitioner;
  readonly signMasterKey: (aes: string) => Promise<Uint8Array>;
};

export class Master {
  readonly #parts: MasterParts;
  readonly #batcher: Batcher;
  readonly #tracker: JobTracker;
  readonly #presence: Presence;
  readonly #publisher: Publisher;
  readonly #commands: Commands;
  readonly #keyRing: KeyRing;
  readonly #publishFront: PublishFront;
  /** Answers that lanes and commands still owe; a shutdown waits for them. */
  readonly #answering = new Set<Promise<void>>();
  readonly #stopSteps: (() => void)[] = [];
  readonly #faultListeners: (() => void)[] = [];
  #requestFront: RequestFront | undefined;
  readonly #maintenance: Maintenance;
  fault: Error | undefined;

  private constructor(parts: MasterParts, publishFront: PublishFront) {
    this.#parts = parts;
    this.#publishFront = publishFront;
    this.#publisher = this.#createPublisher();
    this.#tracker = this.#createTracker();
    this.#presence = this.#createPresence();
    this.#commands = this.#createCommands();
    this.#keyRing = this.#createKeyRing();
    this.#batcher = this.#createBatcher();
    this.#maintenance = this.#createMaintenance();
  }

  /** Opens the ports, publish first: a minion that gets an answer may subscribe at once. */
  static async open(parts: MasterParts): Promise<Master> {
    const { config } = parts;
    const common = portOptions(config);
    const publishFront = await PublishFront.bind({
      ...common,
      endpoint: endpointOf(config.interface, config.publish_port),
      highWaterMark: config.pub_hwm,
      isFiltering: config.zmq_filtering,
    });
    const master = new Master(parts, publishFront);
    const bound = RequestFront.bind({
      ...common,
      endpoint: endpointOf(config.interface, config.ret_port),
      frameBytesMax: config.request_max_bytes,
      onRequest: (identity, frame) => master.#receive(identity, frame),
      onFault: (error) => master.#fail(error),
    });
    master.#requestFront = await bound.catch((error: Error) => {
      master.#presence.close();
      master.#maintenance.close();
      publishFront.close();
      throw error;
    });
    return master;
  }

  get publishEndpoint(): string {
    return this.#publishFront.boundEndpoint;
  }

  get requestEndpoint(): string {
    return this.#requestFront?.boundEndpoint ?? "";
  }

  applyKeyChange(change: KeyChange): void {
    this.#keyRing
      .apply(change)
      .catch((error: Error) => this.#parts.logger.error({ err: error }, "a key change could not be applied"));
  }

  onStop(step: () => void): void {
    this.#stopSteps.push(step);
  }

  onFault(listener: () => void): void {
    this.#faultListeners.push(listener);
  }

  /** Stop accepting, drain with a deadline, close. Whatever was not acknowledged by then will be sent again by its minion. */
  async stop(deadlineMs: number): Promise<void> {
    this.#maintenance.close();
    for (const step of this.#stopSteps) step();
    this.#presence.close();
    this.#requestFront?.stopReceiving();
    await this.#within(deadlineMs, this.#drain(), "requests were still under way at the deadline");
    this.#tracker.close();
    const { pool, rsa, runners, bus, secrets } = this.#parts;
    const storesClosed = pool.broadcast(() => ({ kind: "close" }));
    await this.#within(storeCloseTimeoutMs, storesClosed, "a worker did not close its stores in time");
    await this.#requestFront?.close();
    this.#publishFront.close();
    const threadsEnded = Promise.all([pool.close(), rsa.close(), runners.close()]);
    await this.#within(storeCloseTimeoutMs, threadsEnded, "a thread did not end in time");
    await bus.close();
    secrets.close();
  }

  /** Waits no longer than that: whatever hangs or fails by now must not keep the process from ending. */
  async #within(deadlineMs: number, step: Promise<unknown>, warning: string): Promise<void> {
    const isDone = step.then(
      () => true,
      (error: Error) => {
        this.#parts.logger.error({ err: error }, "a step of the shutdown failed");
        return true;
      },
    );
    const inTime = await Promise.race([isDone, later(deadlineMs).then(() => false)]);
    if (!inTime) this.#parts.logger.warn({ deadlineMs }, warning);
  }

  async #drain(): Promise<void> {
    await this.#batcher.idle();
    await Promise.allSettled(this.#answering);
  }

  #receive(identity: Buffer, frame: Buffer): void {
    this.#batcher.offer(identity, frame);
    if (this.#batcher.isFull) this.#requestFront?.pause();
  }

  #reply(identity: Buffer, payload: Uint8Array): void {
    this.#requestFront?.reply(identity, payload);
  }

  #takeResult(result: BatchResult): void {
    if (result.accepted.length > 0) this.#keyRing.noteAccepted(result.accepted);
    this.#presence.noteContacts(result.contacts);
    if (result.eventCount === 0) return;
    this.#parts.bus.publishFrames(new Uint8Array(result.buffer, result.eventsStart), result.eventCount);
    for (const note of result.returned) {
      this.#tracker.noteReturn(note.jid, note.id, () =>
        loadOfFrame(new Uint8Array(result.buffer, note.bodyStart, note.bodyEnd - note.bodyStart)),
      );
    }
  }

  #takeDeferred(work: Deferred, identity: Buffer): void {
    switch (work.kind) {
      case "forward":
        this.#batcher.offerOpened(identity, work);
        break;
      case "rsa":
        this.#answerLater(identity, this.#parts.rsa.run<Uint8Array>(work.job));
        break;
      case "publish":
        this.#answerLater(identity, this.#commands.publish(work.load, work.user));
        break;
      case "command":
        this.#runCommand(work, identity);
        break;
    }
  }

  #runCommand(work: Extract<Deferred, { kind: "command" }>, identity: Buffer): void {
    // Once only: a second reply would be taken for the answer to the client's next request.
    let isAnswered = false;
    const reply = (frame: Uint8Array) => {
      if (!isAnswered) this.#reply(identity, frame);
      isAnswered = true;
    };
    this.#whileAnswering(
      this.#commands.run(work.command, work.load, work.user, reply).catch((error: Error) => {
        this.#parts.logger.error({ err: error }, "a command failed");
        reply(failedReply);
      }),
    );
  }

  #answerLater(identity: Buffer, answer: Promise<Uint8Array>): void {
    this.#whileAnswering(
      answer.then(
        (frame) => this.#reply(identity, frame),
        (error: Error) => {
          this.#parts.logger.error({ err: error }, "a request could not be answered");
          this.#reply(identity, failedReply);
        },
      ),
    );
  }

  #whileAnswering(answer: Promise<void>): void {
    this.#answering.add(answer);
    void answer.finally(() => this.#answering.delete(answer));
  }

  #fail(error: Error): void {
    this.#parts.logger.fatal({ err: error }, "the master cannot go on");
    this.fault = error;
    for (const listener of this.#faultListeners) listener();
  }

  #createPublisher(): Publisher {
    const { config, pool, rsa, partitioner, start, secrets, bus, logger } = this.#parts;
    return new Publisher({
      pool,
      rsa,
      partitioner,
      front: this.#publishFront,
      accepted: start.accepted,
      nextSerial: () => secrets.nextSerial(),
      isSigning: config.sign_pub_messages,
      signingAlgorithm: config.publish_signing_algorithm,
      isUniqueJid: config.unique_jid,
      fire: (tag, data) => bus.fire(tag, data),
      logger,
    });
  }

  #createTracker(): JobTracker {
    const { config, logger } = this.#parts;
    return new JobTracker({
      findJob: async (jid, ids) =>
        (await this.#publisher.publish(ownJob("saltutil.find_job", [jid], [...ids], "list", config.user)))?.jid,
      readFindJob: readFindJobAnswer,
      isConnected: (id) => !this.#presence.isGone(id),
      onFault: (error) => logger.error({ err: error }, "find_job could not be published"),
    });
  }

  #createPresence(): Presence {
    const { config, start, pool, logger } = this.#parts;
    return new Presence({
      timeoutMs: config.presence_timeout * 1_000,
      accepted: start.accepted,
      ping: async (ids) => {
        const jid = this.#publisher.newJid();
        keepPresencePing(start, jid);
        await pool.broadcast(() => ({ kind: "presencePing", jid }));
        await this.#publisher.publish({ ...ownJob("test.ping", [], [...ids], "list", config.user, true), jid });
      },
      onFault: (error) => logger.warn({ err: error }, "presence ping failed"),
    });
  }

  #createCommands(): Commands {
    const { config, runners, bus, logger } = this.#parts;
    return new Commands({
      publisher: this.#publisher,
      tracker: this.#tracker,
      runners,
      fire: (tag, data) => bus.fire(tag, data),
      connected: () => this.#presence.connected(),
      counters: () => this.#gatherCounters(),
      user: config.user,
      logger,
    });
  }

  #createKeyRing(): KeyRing {
    const { config, logger, secrets, start, pool, bus, signMasterKey } = this.#parts;
    return new KeyRing({
      secrets,
      accepted: start.accepted,
      graceMs: config.rotation_grace * 1_000,
      rotatesOnRemoval: config.rotate_aes_key,
      sessionMs: config.publish_session * 1_000,
      logger,
      signMasterKey,
      distributeKeys: async (keys) => {
        start.keys = keys;
        await pool.broadcast(() => ({ kind: "masterKeys", keys }));
      },
      distributeChange: async (change) => {
        await pool.broadcast(() => ({ kind: "minionKeys", ...change }));
      },
      onRemoved: (id) => this.#presence.forget(id),
      fire: (tag, data) => bus.fire(tag, data),
      exclusively: (step) => this.#publisher.exclusively(step),
      onRotated: () => this.#pingAfterRotation(),
    });
  }

  /** `ping_on_rotate`: a publish that nobody can read yet makes every minion fetch the new key before the first real job. */
  #pingAfterRotation(): void {
    const { config, logger } = this.#parts;
    if (!config.ping_on_rotate) return;
    const ping = this.#publisher.publish(ownJob("test.ping", [], "*", "glob", config.user));
    ping.catch((error: Error) => logger.warn({ err: error }, "ping after rotation failed"));
  }

  #createMaintenance(): Maintenance {
    const { config, logger, pool } = this.#parts;
    const refusals = new Refusals((refused) => logger.warn({ refused }, "refused requests since the last look"));
    return new Maintenance({
      intervalMs: config.loop_interval * 1_000,
      keepJobsMs: config.keep_jobs_seconds * 1_000,
      pool,
      rotateIfDue: (nowMs) => this.#keyRing.rotateIfDue(nowMs),
      readFaults: async () => refusals.note((await this.#gatherCounters()).workers),
      onFault: (error) => logger.error({ err: error }, "maintenance failed"),
    });
  }

  #createBatcher(): Batcher {
    const { config, logger, pool, partitioner, bus } = this.#parts;
    const minionsMax = config.max_minions;
    return new Batcher({
      pool,
      partitioner,
      framesMax: config.batch_max_frames,
      bytesMax: config.batch_max_bytes,
      authQueueMax: config.auth_queue_max,
      batchesInFlightMax: config.batches_in_flight,
      queueBytesMax: config.queue_max_bytes,
      onRoom: () => this.#requestFront?.resume(),
      reply: (identity, payload) => this.#reply(identity, payload),
      isOverMinionsMax: (id) =>
        minionsMax > 0 && !this.#presence.isConnected(id) && this.#presence.connectedCount > minionsMax,
      isHeard: () => bus.subscriberCount > 0 || this.#tracker.followedCount > 0,
      onResult: (result) => this.#takeResult(result),
      onDeferred: (work, identity) => this.#takeDeferred(work, identity),
      onFault: (error) => logger.error({ err: error }, "a batch was answered with an error"),
    });
  }

  #gatherCounters() {
    const { bus, pool, rsa, runners, logger } = this.#parts;
    const sources = {
      "": () => ({ ...this.#batcher.counters, openedSeals: openedSealCount() }),
      requests: () => this.#requestFront?.counters ?? {},
      publishes: () => this.#publishFront.counters,
      bus: () => ({ ...bus.counters, subscribers: bus.subscriberCount, droppedEvents: bus.droppedEvents }),
      pool: () => pool.counters,
      rsa: () => ({ ...rsa.counters, pending: rsa.pending }),
      runners: () => ({ ...runners.counters, pending: runners.pending }),
      jobs: () => ({
        ...this.#publisher.counters,
        ...this.#tracker.counters,
        following: this.#tracker.followedCount,
        ...this.#maintenance.counters,
      }),
      keys: () => this.#keyRing.counters,
      presence: () => ({ ...this.#presence.counters, connected: this.#presence.connectedCount }),
    };
    return gatherCounters(sources, pool, (slot, fault) => logger.error({ slot, fault }, "a worker met a fault"));
  }
}

const failedReply = encodeRawReply(Buffer.from("Some exception handling minion payload"));

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** The load inside a worker's event frame. */
function loadOfFrame(frame: Uint8Array): Uint8Array {
  const [body] = new FrameReader().push(frame);
  return body === undefined ? new Uint8Array() : splitEvent(body).data;
}
