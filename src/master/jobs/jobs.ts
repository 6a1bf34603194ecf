/**
 * The master's jobs: the tracker that follows them, and the deliveries that wait for absent minions. This file
 * joins both to publisher, presence and stores.
 */
import type { Logger } from "pino";
import { durationForm, parseDuration } from "../../config/duration.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import { deliverWithinSecondsMax, listedMinionsMax } from "../../limits.ts";
import type { PendingJobRecord, PendingJobs } from "../../store/jobs/pending-jobs.ts";
import { openKeyDirectories } from "../../store/keys/keys.ts";
import type { MinionData } from "../../store/minions/data.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import type { BatchResult } from "../../workers/messages/batch.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Bus } from "../ports/bus.ts";
import type { Presence } from "../presence/presence.ts";
import { PresenceEvents } from "../presence/presence-events.ts";
import { type GrantSource, readGrantSource, writeGrantSource } from "../publish/grant-source.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Job, Published, Publisher } from "../publish/publisher.ts";
import { noteBelow, type Syndics } from "../syndic/syndics.ts";
import { openKeptMinions } from "../upkeep/kept-minions.ts";
import { Deliveries } from "./deliveries.ts";
import type { DeliverySharing, Grantees } from "./delivery-effects.ts";
import { readFindJobAnswer } from "./find-job.ts";
import { keyReason, type ReasonSources, reasonFor } from "./reasons.ts";
import { funText, type JobRecord, type SilentReason } from "./record.ts";
import { forEachReturn, type ReturnEvents } from "./return-events.ts";
import { JobTracker } from "./tracker.ts";

export type JobsParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly start: WorkerStart;
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  readonly bus: Bus;
  readonly pendingJobs: PendingJobs;
  readonly tracker: JobTracker;
  readonly publisher: Pick<Publisher, "close" | "deliver">;
  readonly presence: Presence;
  readonly syndics: Syndics | undefined;
  readonly authorisation: { readonly mayStillPublish: MayStillPublish };
  /** Undefined without a cluster. `demand` throws unless this member may act for the jobs that it owns. */
  readonly leases: { readonly deliveries: DeliverySharing; readonly demand: () => void } | undefined;
};
/** Whether the grants that a job was published with still cover these minions. `isHopeful`: minions without data count as covered. */
type MayStillPublish = (
  source: GrantSource,
  job: Pick<Job, "fun" | "arg">,
  ids: readonly string[],
  isHopeful?: boolean,
) => Promise<boolean>;

/** `leavesAbsent`: without waiting for minions that are not connected. */
export type FollowTimes = {
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
  readonly leavesAbsent?: boolean;
};
/** `isDefault`: from the configuration, not asked for with this job. */
export type DeliverWithin = { readonly seconds: number; readonly isDefault: boolean };

/** Functions whose answer is useful only now. They are never kept for absent minions unless `--deliver-within` asks for it. */
const momentaryFunctions = new Set([
  "test.ping",
  ...["find_job", "running", "is_running", "kill_job", "term_job", "signal_job", "kill_all_jobs"].map(
    (name) => `saltutil.${name}`,
  ),
]);

/** An unreadable minion store is logged once in this time, because each of a thousand silent minions meets the fault. */
const faultLogMs = 10_000;

/** Creates the tracker of the master's jobs. It asks minions by `saltutil.find_job`, and the publisher tells it which jobs have left. */
export function trackerOf(
  { config, logger }: Pick<JobsParts, "config" | "logger">,
  publisher: Pick<Publisher, "publish" | "onSent" | "onTaken">,
  presence: Pick<Presence, "isGone">,
  syndics: Pick<Syndics, "ids"> | undefined,
): JobTracker {
  const tracker = new JobTracker({
    findJob: async (jid, ids, onAsk) => {
      const question = ownJob("saltutil.find_job", [jid], [...ids], "list", config.user);
      await publisher.publish(question, (published) => onAsk(published.jid));
    },
    readFindJob: readFindJobAnswer,
    isConnected: (id) => !presence.isGone(id),
    below: syndics && { waitMs: config.syndic_wait * 1_000, ids: () => syndics.ids },
    onFault: (error) => logger.error({ err: error }, "the tracker failed to follow a job"),
  });
  publisher.onSent((jid) => tracker.noteSent(jid));
  // This member's own jobs are tracked when they begin.
  publisher.onTaken(({ kind, fun, ...head }) => {
    if (kind === "job" && tracker.record(head.jid) === undefined) tracker.track({ ...head, fun: funText(fun) });
  });
  return tracker;
}

export class Jobs {
  readonly tracker: JobTracker;
  readonly deliveries: Deliveries;
  readonly #parts: JobsParts;
  readonly #presenceEvents: PresenceEvents | undefined;
  #minions: MinionData | undefined;
  #mayLogMs = 0;

  constructor(parts: JobsParts) {
    const { config, logger, start, bus } = parts;
    this.#parts = parts;
    this.tracker = parts.tracker;
    this.deliveries = Deliveries.open({
      store: parts.pendingJobs,
      numbers: this.tracker.numbers,
      sharing: parts.leases?.deliveries,
      send: (record, ids) => this.#send(record, ids),
      stillGranted: (record, ids) => this.#stillGranted(record, ids),
      askRunning: (jid, ids, timeoutMs, onAnswer) => this.tracker.askRunning(jid, ids, timeoutMs, onAnswer),
      whoReturned: (jid, ids) => this.#whoReturned(jid, ids),
      isAccepted: (id) => start.accepted.has(id),
      isConnected: (id) => parts.presence.isConnected(id),
      gatherTimeoutMs: config.gather_job_timeout * 1_000,
      onFault: (error) => logger.error({ err: error }, "a job that waits for absent minions met a fault"),
    });
    parts.presence.onArrivedElsewhere = (id) => this.deliveries.noteContact(id);
    if (config.presence_events) {
      const intervalMs = config.loop_interval * 1_000;
      const connected = () => parts.presence.connected();
      this.#presenceEvents = new PresenceEvents({ intervalMs, connected, fire: (tag, data) => bus.fire(tag, data) });
    }
  }

  /** Whether workers must report returns to the main thread. */
  get isListening(): boolean {
    return this.tracker.isListening || this.deliveries.jobCount > 0;
  }

  /**
   * Notes appearances before contacts: an `_auth` is followed by other requests before the minion can take jobs, and these must not shorten its wait.
   */
  noteResult(result: BatchResult): void {
    const { syndics, bus } = this.#parts;
    noteBelow(result, syndics, this.tracker, (tag, data) => bus.fire(tag, data));
    for (const id of result.authenticated) this.deliveries.noteAppearance(id, "auth");
    for (const id of result.started) this.deliveries.noteAppearance(id, "start");
    for (const id of result.contacts) this.deliveries.noteContact(id);
    this.noteReturns(result);
  }

  /** Notes the returns of a batch, or of another member of the cluster. */
  noteReturns(result: ReturnEvents): void {
    forEachReturn(result, (jid, id, isFailed, data) => {
      this.deliveries.noteReturn(jid, id);
      this.tracker.noteReturn(jid, id, data, isFailed);
    });
  }

  /**
   * How long a job is to wait for minions that are away, from its request or the configuration.
   *
   * @returns undefined if not at all
   * @throws SaltworksError FUNCTION_ARGUMENTS for an invalid or too long time, or if returns are not kept
   */
  deliverWithin(asked: Value | undefined, fun: Encodable): DeliverWithin | undefined {
    const { config } = this.#parts;
    const isDefault = asked === undefined || asked === null || asked === "";
    if (isDefault && (config.deliver_within === 0 || momentaryFunctions.has(String(fun)))) return undefined;
    const seconds = isDefault ? config.deliver_within : parseDuration(String(asked));
    if (seconds === undefined)
      throw refused(`deliver_within must be ${durationForm}, not '${String(asked).slice(0, 40)}'`);
    if (seconds === 0) return undefined;
    const fault = this.#deliveryFault(seconds);
    if (fault === undefined) return { seconds, isDefault };
    if (!isDefault) throw refused(fault);
    this.#parts.logger.warn({ why: fault }, "a job does not wait for minions that are away");
    return undefined;
  }

  /** Call it before a job is sent. Follows the job and keeps it for absent minions. Resolves when a crash can no longer lose the kept job. */
  async begin(
    job: Job,
    published: Published,
    follow: FollowTimes | undefined,
    within: DeliverWithin | undefined,
  ): Promise<void> {
    if (within !== undefined) await this.#keep(job, published, within);
    const head = { ...published, fun: funText(job.fun), user: job.user };
    const { timeout, gather_job_timeout: gatherSeconds } = this.#parts.config;
    const times = follow ?? { timeoutMs: timeout * 1_000, gatherTimeoutMs: gatherSeconds * 1_000 };
    if (follow === undefined && within === undefined) {
      this.tracker.track(head);
      return;
    }
    this.tracker.follow({
      ...head,
      ...times,
      onDone: (returned, silent) => {
        this.deliveries.watch(published.jid, silent.keys());
        if (follow !== undefined) this.#tellDone(published.jid, returned, silent);
      },
    });
  }

  /** Runs `publish` with `begin`. If `publish` fails after `begin`, gives the job up, because a job that failed for its client must not run later. */
  async beginning<Result>(publish: (begin: Jobs["begin"]) => Promise<Result>): Promise<Result> {
    let begun: string | undefined;
    const begin: Jobs["begin"] = async (job, published, follow, within) => {
      await this.begin(job, published, follow, within);
      begun = published.jid;
    };
    try {
      return await publish(begin);
    } catch (error) {
      if (begun !== undefined) await this.#abandon(begun);
      throw error;
    }
  }

  async #abandon(jid: string): Promise<void> {
    this.tracker.letGo(jid);
    try {
      await this.deliveries.cancel(jid);
    } catch (error) {
      this.#parts.logger.error({ err: error, jid }, "a job that could not be sent still waits for minions");
    }
  }

  /** Forgets what waits for an id, or is known of it, whose key was removed. */
  forgetHolder(id: string): void {
    this.deliveries.forget(id);
    this.#parts.syndics?.forget(id);
  }

  /** Until when a job waits for minions that are away; undefined if it waits for none. */
  waitsUntilMs(jid: string): number | undefined {
    return this.deliveries.job(jid)?.record.deadlineMs;
  }

  /** Why names in a target are not minions, for the first `listedMinionsMax`. */
  keyReasons(names: readonly string[]): Map<string, string> {
    return new Map(names.slice(0, listedMinionsMax).map((id) => [id, keyReason(id, this.reasonSources)] as const));
  }

  readonly reasonSources: ReasonSources = {
    isAccepted: (id) => this.#parts.start.accepted.has(id),
    keyState: (id) => openKeyDirectories(this.#parts.config.pki_dir).stateOf(id),
    isConnected: (id) => this.#parts.presence.isConnected(id),
    contactMs: (id) => this.#parts.presence.contactMs(id),
    isKnown: (id) => this.#isKnown(id),
    waitsUntilMs: (jid, id) => {
      const job = this.deliveries.job(jid);
      return job?.lacks(id) ? job.record.deadlineMs : undefined;
    },
    startedMs: Date.now(),
  };

  async close(): Promise<void> {
    this.#presenceEvents?.close();
    this.tracker.close();
    await this.deliveries.close();
    await this.#parts.publisher.close();
    await this.#minions?.close();
  }

  #deliveryFault(seconds: number): string | undefined {
    const { job_cache: isCached, ext_job_cache: external, keep_jobs_seconds: keptSeconds } = this.#parts.config;
    if (!isCached || external !== "")
      return "deliver_within needs a job cache that knows which minions have returned: job_cache must be on and ext_job_cache unset";
    if (seconds > deliverWithinSecondsMax)
      return `deliver_within may be at most ${deliverWithinSecondsMax / 86_400} days`;
    if (keptSeconds > 0 && seconds > keptSeconds)
      return `deliver_within is longer than jobs are kept (keep_jobs_seconds: ${keptSeconds})`;
    return undefined;
  }

  async #keep(job: Job, { jid, minions }: Published, within: DeliverWithin): Promise<void> {
    const { fun, arg, ret, user, publishFields } = job;
    const publishedMs = Date.now();
    const fields = new Map<string, Encodable>([
      ["fun", fun],
      ["arg", arg],
      ["ret", ret],
      ["user", user],
    ]);
    if (job.source !== undefined) fields.set("source", writeGrantSource(job.source));
    fields.set("publishFields", new Map(publishFields));
    const deadlineMs = publishedMs + within.seconds * 1_000;
    try {
      const ids = minions.texts().filter((id) => !this.#parts.syndics?.ids.has(id));
      if (ids.length === 0) return;
      await this.deliveries.keep({ jid, fields, minions: ids, publishedMs, deadlineMs });
    } catch (error) {
      if (!within.isDefault) throw error;
      this.#parts.logger.warn({ err: error, jid }, "a job does not wait for minions that are away");
    }
  }

  /** Why named or expected minions are missing, for the first `listedMinionsMax`. */
  reasonsOf(record: JobRecord, silent: Iterable<string>): Map<string, string> {
    const reasons = this.keyReasons(record.missing);
    const nowMs = Date.now();
    for (const id of silent) {
      if (reasons.size >= listedMinionsMax) break;
      const minion = record.of(id);
      const reason = minion && reasonFor(record, minion, this.reasonSources, nowMs);
      if (reason !== undefined) reasons.set(id, reason);
    }
    return reasons;
  }

  #tellDone(jid: string, returned: readonly string[], silent: ReadonlyMap<string, SilentReason>): void {
    const record = this.tracker.record(jid);
    const reasons = record === undefined ? new Map() : this.reasonsOf(record, silent.keys());
    this.#parts.bus.fire(`saltworks/job/${jid}/done`, { jid, returned, silent: new Map(silent), reasons });
  }

  /** Checks all minions at once, and one by one only if that is refused. */
  async #stillGranted({ jid, fields }: PendingJobRecord, ids: readonly string[]): Promise<Grantees> {
    const source = readGrantSource(fields.get("source"));
    if (source === undefined) return { granted: ids, undecided: [] };
    const { authorisation, logger } = this.#parts;
    const job = { fun: fields.get("fun") ?? "", arg: fields.get("arg") ?? [] };
    if (await authorisation.mayStillPublish(source, job, ids)) return { granted: ids, undecided: [] };
    const [granted, undecided]: [string[], string[]] = [[], []];
    for (const id of ids) {
      if (ids.length > 1 && (await authorisation.mayStillPublish(source, job, [id]))) granted.push(id);
      else if (await authorisation.mayStillPublish(source, job, [id], true)) undecided.push(id);
    }
    const count = ids.length - granted.length - undecided.length;
    const from = source.kind === "peer" ? { minion: source.minion } : { user: source.user };
    if (count > 0)
      logger.warn({ jid, ...from, count }, "a job that waited is not delivered: its user no longer has the permission");
    return { granted, undecided };
  }

  async #send({ jid, fields }: PendingJobRecord, ids: readonly string[]): Promise<void> {
    const publishFields = fields.get("publishFields") as ReadonlyMap<string, Encodable>;
    const field = (name: string) => fields.get(name) ?? "";
    const job = { fun: field("fun"), arg: field("arg"), ret: field("ret"), user: String(field("user")), publishFields };
    this.#parts.leases?.demand();
    this.tracker.record(jid)?.noteDelivered(ids, Date.now());
    await this.#parts.publisher.deliver(job, jid, ids);
    this.#parts.bus.fire(`saltworks/job/${jid}/deliver`, { jid, minions: ids });
  }

  /** Asks one worker: any of them can tell, because all read the same store. */
  #whoReturned(jid: string, ids: readonly string[]): Promise<readonly string[]> {
    const { pool, partitioner } = this.#parts;
    const task = { kind: "whichReturned", jid, ids };
    return pool.offer<string[]>(partitioner.slotOf(jid, pool.slotCount), {
      bytes: 0,
      build: () => ({ task, transfer: [] }),
    });
  }

  /** True if the data cannot be read: the job must end, and its reasons must not claim "never seen". */
  #isKnown(id: string): boolean {
    try {
      return this.#minionData().get(id) !== undefined;
    } catch (error) {
      const nowMs = performance.now();
      if (nowMs < this.#mayLogMs) return true;
      this.#mayLogMs = nowMs + faultLogMs;
      this.#parts.logger.error({ err: error }, "the minions' data cannot be read");
      return true;
    }
  }

  #minionData(): MinionData {
    const { config, logger } = this.#parts;
    this.#minions ??= openKeptMinions(config, logger, true);
    return this.#minions;
  }
}

function refused(message: string): SaltworksError {
  return new SaltworksError("FUNCTION_ARGUMENTS", message);
}
