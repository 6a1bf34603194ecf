/**
 * Publishes jobs: resolves the target to expected minions, makes the job id, stores the job, fires its events, encrypts and sends it.
 * Publishes leave in the order of their serials, so they are sealed and sent one at a time. docs/protocol.md section 6.
 */
import type { Logger } from "pino";
import type { JobKind } from "../../cluster/jobs/record.ts";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { publishQueueMax, publishThreadTimeoutMs } from "../../limits.ts";
import type { MasterSecrets } from "../../store/secrets/secrets.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { encode } from "../../wire/msgpack.ts";
import { encodePublish } from "../../wire/publish.ts";
import { TextList } from "../../wire/text-list.ts";
import type { Encodable } from "../../wire/values.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { FileEpoch } from "../../workers/state/file-epoch.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Bus } from "../ports/bus.ts";
import type { PublishFront } from "../ports/publish-front.ts";
import type { GrantSource } from "./grant-source.ts";
import { JobIds } from "./job-ids.ts";
import type { StoredLoad } from "./refused-loads.ts";
import type { JobSequence, JobStreamCounters } from "./sequence.ts";
import { SharedJobs, storedKinds, type ToldJob } from "./shared-jobs.ts";
import { type Targets, targetOnWire } from "./targets.ts";

export type Fire = (
  tag: string,
  data: { readonly [key: string]: Encodable } | ReadonlyMap<Encodable, Encodable>,
) => void;

export type PublisherOptions = {
  readonly pool: WorkerPool;
  readonly rsa: LanePool;
  readonly partitioner: Partitioner;
  readonly front: PublishFront;
  readonly fileEpoch: Pick<FileEpoch, "advance">;
  readonly targets: Targets;
  readonly nextSerial: () => number;
  /** In a cluster the sequence gives the serials. */
  readonly noteSerial: (serial: number) => void;
  /** Undefined for a master without a cluster. */
  readonly sequence?: JobSequence | undefined;
  readonly isSigning: boolean;
  readonly signingAlgorithm: string;
  readonly isUniqueJid: boolean;
  /** Lower masters may have minions that the target matches, so that a job without minions here is sent, too. */
  readonly hasLowerMasters: boolean;
  readonly fire: Fire;
  /** As `fire`, for jobs of the cluster's other members. */
  readonly fireElsewhere: Fire;
  /** The master's id, which is its name in a cluster. */
  readonly member: string;
  readonly logger: Logger;
};

/** A job to publish. `load`: what the job cache keeps, without credentials. `publishFields`: sent to the minions beside the standard fields. */
export type Job = AskedTarget & {
  readonly fun: Encodable;
  readonly arg: Encodable;
  readonly ret: Encodable;
  readonly user: string;
  readonly jid: string | undefined;
  readonly load: ReadonlyMap<Encodable, Encodable>;
  readonly publishFields: ReadonlyMap<string, Encodable>;
  /** Neither stored nor shown on the bus, as a presence ping. */
  readonly isQuiet: boolean;
  /** Origin of a restricted publisher's grants. */
  readonly source?: GrantSource | undefined;
};
/** The part of a job that minions get, besides its target and id. */
export type DeliveredJob = Pick<Job, "fun" | "arg" | "ret" | "user" | "publishFields">;
export type Published = { readonly jid: string; readonly minions: TextList; readonly missing: string[] };

/** Functions that make no minion ask for a file. Clients publish them while they wait, so that they must not begin an epoch. */
const filelessFunctions: ReadonlySet<Encodable> = new Set(["saltutil.find_job", "test.ping"]);
/** Target types for which `zmq_filtering` can send to the topics of minions. */
const topicKinds = new Set(["glob", "list", "pcre"]);

export class Publisher {
  /** `lastMatchUs`, `lastPublishUs`: microseconds until the last publish, quiet ones aside, had its expected minions, and until it was sent. */
  readonly counters = { jobs: 0, delivered: 0, unmatched: 0, refused: 0, lastMatchUs: 0, lastPublishUs: 0 };
  readonly #options: PublisherOptions;
  readonly #ids: JobIds;
  readonly #sentListeners: ((jid: string) => void)[] = [];
  readonly #shared: SharedJobs | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#ids = new JobIds({ isUnique: options.isUniqueJid });
    const { sequence, targets, fire, fireElsewhere, member, logger, noteSerial } = options;
    this.#shared =
      sequence &&
      new SharedJobs({
        ...{ sequence, targets, fire, fireElsewhere, member, logger, noteSerial },
        store: (stored) => this.#store(stored),
        send: (fields, targetKind, minions) => this.#inTurn(() => this.#dispatch(fields, targetKind, minions)),
        onSent: (jid) => this.#tellSent(jid),
      });
  }

  /** Counts of the cluster's jobs; undefined without a cluster, or before the member has joined. */
  get sequenceCounters(): (JobStreamCounters & { readonly unstored: number }) | undefined {
    const counters = this.#options.sequence?.counters;
    return counters && { ...counters, unstored: this.#shared?.unstored ?? 0 };
  }

  /** Calls `listener` with each job of the cluster's members, this one's included, before it is sent. Never without a cluster. */
  onTaken(listener: (job: ToldJob) => Promise<void> | void): void {
    this.#shared?.onTaken(listener);
  }

  /** Takes no more jobs of the cluster. Resolves when the ones under way are sent, and refused ones were tried once more. */
  async close(): Promise<void> {
    await this.#options.sequence?.close();
    await this.#shared?.close();
  }

  /** Calls `listener` when a job has left the publish port. */
  onSent(listener: (jid: string) => void): void {
    this.#sentListeners.push(listener);
  }

  /**
   * Resolves when the kernel has all publishes that were sent before, so that the death of the master takes none back. False if the
   * publish thread did not say so in time.
   */
  untilWritten(): Promise<boolean> {
    return this.#options.front.look(publishThreadTimeoutMs);
  }

  /** Number of publishes begun and not yet sent. */
  get waitingCount(): number {
    return this.#waiting;
  }

  newJid(): string {
    return this.#ids.next();
  }

  /**
   * @param onAccepted called with the expected minions and awaited before anything is sent, so that no return comes too early
   * @returns undefined if the target expects no minion, and there are no lower masters; then nothing is stored or sent
   * @throws SaltworksError QUEUE_FULL, TARGET_INVALID for a target that is refused, or what store and workers throw
   */
  async publish(
    asked: Job,
    onAccepted?: (published: Published) => Promise<void> | void,
  ): Promise<Published | undefined> {
    this.#enter();
    const startedMs = performance.now();
    try {
      const job = this.#written(asked);
      const wireTarget = targetOnWire(job);
      const { minions, missing } = await this.#options.targets.expected(job);
      if (!job.isQuiet) this.counters.lastMatchUs = microsSince(startedMs);
      if (minions.count === 0 && (job.isQuiet || !this.#options.hasLowerMasters)) {
        this.counters.unmatched += 1;
        return undefined;
      }
      const published = { jid: job.jid ?? this.newJid(), minions, missing };
      if (this.#shared !== undefined) {
        await onAccepted?.(published);
        await this.#share(kindOf(job), job, wireTarget, published);
      } else {
        if (!job.isQuiet) {
          await this.record(job, published);
          this.#announce(job, published);
        }
        await onAccepted?.(published);
        await this.#inTurn(() => this.#send({ ...job, target: wireTarget }, published));
        this.#tellSent(published.jid);
      }
      this.counters.jobs += 1;
      if (!job.isQuiet) this.counters.lastPublishUs = microsSince(startedMs);
      return published;
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * Sends a job that is neither stored nor announced. The caller knows its minions, so that no target is matched, which costs as much as the fleet is
   * large.
   *
   * @throws SaltworksError QUEUE_FULL, or what workers throw
   */
  async send(job: Job, jid: string, ids: readonly string[]): Promise<void> {
    this.#enter();
    try {
      const published = { jid, minions: TextList.of(ids), missing: [] };
      const target = targetOnWire(job);
      if (this.#shared !== undefined) await this.#share("ping", job, target, published);
      else await this.#inTurn(() => this.#send({ ...job, target }, published));
      this.counters.jobs += 1;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Sends a stored job to some of its minions alone, under its own id. */
  async deliver(job: DeliveredJob, jid: string, ids: readonly string[]): Promise<void> {
    this.#enter();
    try {
      const published = { jid, minions: TextList.of(ids), missing: [] };
      const form = { target: ids, targetKind: "list", delimiter: ":", jid, load: new Map(), isQuiet: true };
      if (this.#shared !== undefined) await this.#share("again", { ...job, ...form }, ids, published);
      else await this.#inTurn(() => this.#send({ ...job, ...form }, published));
      this.counters.delivered += 1;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** @throws SaltworksError QUEUE_FULL */
  #enter(): void {
    if (this.#waiting >= publishQueueMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", "too many publishes are waiting", { publishQueueMax });
    }
    this.#waiting += 1;
  }

  /** The job with its target in stored form (`Targets.written`). */
  #written(asked: Job): Job {
    const job = this.#options.targets.written(asked);
    if (job === asked) return job;
    const load = new Map(job.load).set("tgt", job.target).set("tgt_type", job.targetKind);
    return { ...job, load };
  }

  /** Stores a job under its id without sending it. */
  async record(job: Job, { jid, minions, missing }: Published): Promise<void> {
    await this.#store({
      ...{ jid, minions, missing, isReturnless: isReturnless(job) },
      load: loadOf(job, jid),
    });
  }

  async #store({ jid, load, minions, missing, isReturnless: isNoCache }: StoredLoad): Promise<void> {
    const slot = this.#options.partitioner.slotOf(jid, this.#options.pool.slotCount);
    const task = { kind: "putLoad", jid, load, minions: minions.packed.pieces, missing, isNoCache };
    const build = () => ({ task, transfer: [] });
    await this.#options.pool.offer(slot, { bytes: load.byteLength, isUrgent: true, build });
    if (isNoCache) await this.#options.pool.broadcast(() => ({ kind: "noCache", jid }));
  }

  #announce(job: Job, { jid, minions: { packed: minions }, missing }: Published): void {
    this.#options.fire(jid, { minions });
    this.#options.fire(`salt/job/${jid}/new`, {
      jid,
      tgt_type: job.targetKind,
      tgt: job.target,
      user: job.user,
      fun: job.fun,
      arg: job.arg,
      minions,
      missing,
    });
  }

  /** Sends a job with a serial of its own. `job.target` is in the form for minions (`targetOnWire`). */
  async #send(job: Job, published: Published): Promise<void> {
    const fields = fieldsOf(job, published.jid);
    if (!job.isQuiet) this.#options.fire(`salt/job/${published.jid}/publish`, new Map(fields));
    fields.set("serial", this.#options.nextSerial());
    await this.#dispatch(fields, job.targetKind, published.minions);
  }

  /** Sends a job through the cluster's sequence. `target`: in the form for minions. */
  async #share(kind: JobKind, job: Job, target: Job["target"], published: Published): Promise<void> {
    const { jid, minions, missing } = published;
    await this.#options.sequence?.append({
      ...{ kind, jid, minions, missing, target: job.target, targetKind: job.targetKind, delimiter: job.delimiter },
      isChosenId: job.jid !== undefined,
      fields: fieldsOf({ ...job, target }, jid),
      load: storedKinds.has(kind) ? loadOf(job, jid) : undefined,
      isReturnless: isReturnless(job),
    });
  }

  #tellSent(jid: string): void {
    for (const listener of this.#sentListeners) listener(jid);
  }

  /** Encrypts, signs and sends what minions get. */
  async #dispatch(fields: ReadonlyMap<Encodable, Encodable>, targetKind: string, minions: TextList): Promise<void> {
    // What an operator changed before a publish, its minions see after it.
    if (!filelessFunctions.has(fields.get("fun"))) this.#options.fileEpoch.advance();
    const packed = encode(fields, "raw");
    const task = { kind: "seal", packed };
    const sealed = await this.#options.pool.offer<Uint8Array>(0, {
      bytes: packed.byteLength,
      isUrgent: true,
      build: () => ({ task, transfer: [] }),
    });
    const { isSigning, signingAlgorithm: sigAlgorithm } = this.#options;
    const sig = isSigning
      ? await this.#options.rsa.run<Uint8Array>(
          { kind: "sign", data: sealed, algorithm: sigAlgorithm },
          { isUrgent: true },
        )
      : undefined;
    const frame = encodePublish({ load: sealed, ...(sig === undefined ? {} : { sigAlgorithm, sig }) });
    await this.#options.front.send(frame, topicKinds.has(targetKind) ? () => minions.texts() : undefined);
  }

  /** Runs `step` while no publish is between its serial and the socket. A key rotation must not come in between. */
  exclusively<Result>(step: () => Promise<Result>): Promise<Result> {
    return this.#inTurn(step);
  }

  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const turn = this.#tail.then(step);
    this.#tail = Promise.allSettled([turn]);
    return turn;
  }
}

/** What the job cache keeps, packed. */
function loadOf({ load }: Job, jid: string): Uint8Array {
  return encode(new Map<Encodable, Encodable>([...load, ["jid", jid]]), "bin");
}

/** What minions get, in Salt's order, without the serial. `job.target` is in the form for minions. */
function fieldsOf(job: Job, jid: string): Map<string, Encodable> {
  return new Map<string, Encodable>([
    ["fun", job.fun],
    ["arg", job.arg],
    ["tgt", job.target],
    ["jid", jid],
    ["ret", job.ret],
    ...(job.delimiter === ":" ? [] : ([["delimiter", job.delimiter]] as const)),
    // The publishing minion's id stands in Salt's place, because functions that show their arguments repeat it.
    ...[...job.publishFields].filter(([name]) => name === "id"),
    ["tgt_type", job.targetKind],
    ...job.publishFields,
    ["user", job.user],
  ]);
}

/** A job that other members track, unless it is quiet or asks for another job. */
function kindOf({ isQuiet, fun }: Job): JobKind {
  if (isQuiet) return "again";
  return fun === "saltutil.find_job" ? "question" : "job";
}

/** Whether the client asked not to keep returns. */
function isReturnless({ load }: Job): boolean {
  const kwargs = load.get("kwargs");
  return kwargs instanceof Map && kwargs.get("nocache") === true;
}

function microsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) * 1_000);
}

/** The publisher of a master with these parts. */
export function publisherOf(
  parts: Pick<PublisherOptions, "pool" | "rsa" | "partitioner" | "logger" | "sequence"> & {
    readonly config: MasterConfig;
    readonly secrets: Pick<MasterSecrets, "nextSerial" | "noteSerial">;
    readonly bus: Pick<Bus, "fire" | "fireElsewhere">;
    readonly start: Pick<WorkerStart, "fileEpoch">;
  },
  front: PublishFront,
  targets: Targets,
): Publisher {
  const { config, pool, rsa, partitioner, secrets, bus, logger, sequence } = parts;
  return new Publisher({
    ...{ pool, rsa, partitioner, front, targets, logger, sequence },
    fileEpoch: new FileEpoch(parts.start.fileEpoch),
    nextSerial: () => secrets.nextSerial(),
    noteSerial: (serial) => secrets.noteSerial(serial),
    isSigning: config.sign_pub_messages,
    signingAlgorithm: config.publish_signing_algorithm,
    isUniqueJid: config.unique_jid,
    hasLowerMasters: config.order_masters,
    fire: (tag, data) => bus.fire(tag, data),
    fireElsewhere: (tag, data) => bus.fireElsewhere(tag, data),
    member: config.id,
  });
}
