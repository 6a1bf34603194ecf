/**
 * Runs a batch job: its ping, its steps (each a separate job), its log and its events. `BatchRun` decides the next move; this file executes it.
 * docs/decisions/0020-batches-in-the-master.md.
 */
import { hasCode } from "../../errors.ts";
import { batchGatherMs, batchLateMs, batchSendWaitsMs, batchStepsMax } from "../../limits.ts";
import type { OpenBatchLog, PlacedEntry } from "../../store/jobs/batch-log.ts";
import { type BatchEntry, type BatchOptions, parseShare, windowOf } from "../../wire/batch-options.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { retcodeIn } from "../../wire/return.ts";
import { TextList } from "../../wire/text-list.ts";
import { type Encodable, Packed, type ValueMap } from "../../wire/values.ts";
import type { Job, Published } from "../publish/publisher.ts";
import { bootMs, ClockStep } from "../upkeep/clock-step.ts";
import { type BatchEffects, type BatchTimes, Ping, type PingAnswers } from "./ping.ts";
import { type BatchMove, BatchRun, inOrder } from "./run.ts";
import type { BatchControl } from "./sharing.ts";

/** Smaller steps of the clock are not corrected, because slots wait for seconds. */
const batchClockStepMs = 500;

export class BatchJob {
  readonly jid: string;
  readonly run: BatchRun;
  readonly job: Job;
  readonly times: BatchTimes;
  readonly effects: BatchEffects;
  readonly #log: OpenBatchLog;
  #timer: NodeJS.Timeout | undefined;
  #wakesAtMs = Number.POSITIVE_INFINITY;
  readonly #clock: ClockStep;
  #isClosed = false;
  /** Set after a restart of the master until the minions have reconnected. No step begins meanwhile. */
  #isHeld = false;
  #failure: Error | undefined;
  /** By a step's job id: the mark of its latest `follow`. Only the end of that one counts. */
  readonly #following = new Map<string, symbol>();
  /** Job id of the ping. Minions that answer it late join the queue. */
  #latePing: string | undefined;

  private constructor(
    jid: string,
    run: BatchRun,
    job: Job,
    times: BatchTimes,
    log: OpenBatchLog,
    effects: BatchEffects,
  ) {
    this.jid = jid;
    this.run = run;
    this.job = job;
    this.times = times;
    this.#log = log;
    this.effects = effects;
    this.#clock = new ClockStep(effects.nowMs(), effects.steadyMs ?? bootMs, batchClockStepMs);
  }

  /**
   * Pings the target. `beginSteps` runs the job on the minions that answer: not before the log is safe, so that a job that the cluster lacks has no end.
   *
   * @returns undefined if the target expects no minion
   * @throws SaltworksError as `publish` and `record`, STORE_FAILED
   */
  static async begin(
    job: Job,
    options: BatchOptions,
    times: BatchTimes,
    effects: BatchEffects,
  ): Promise<{ batch: BatchJob; published: Published; beginSteps: () => Promise<void> } | undefined> {
    const ping = new Ping(job, times, effects);
    const pinged = await ping.send();
    if (pinged === undefined) return undefined;
    const published = { ...pinged, jid: effects.newJid() };
    await effects.record(job, published);
    const log = effects.logs.create(effects.directory, published.jid);
    const batch = new BatchJob(published.jid, new BatchRun(batchStepsMax), job, times, log, effects);
    batch.note({
      kind: "new",
      at: effects.nowMs(),
      jid: published.jid,
      user: job.user,
      ping: pinged.jid,
      expected: pinged.minions.count,
      ...times,
      size: options.size,
      waitSeconds: options.waitSeconds,
      isFailHard: options.isFailHard,
      canary: options.canary,
      failuresMax: options.failuresMax ?? "",
      isStatic: options.isStatic,
      load: Buffer.from(encode(job.load, "bin")).toString("base64"),
    });
    return { batch, published, beginSteps: async () => batch.beginSteps(pinged.jid, await ping.over) };
  }

  /**
   * Opens the log of an unfinished batch job of an earlier master process. `recoverBatch` resumes the job.
   *
   * @returns undefined if it is over
   * @throws SaltworksError STORE_FAILED
   */
  static reopen(jid: string, effects: BatchEffects): BatchJob | undefined {
    const { log, entries } = effects.logs.reopen(effects.directory, jid);
    const run = new BatchRun(batchStepsMax);
    for (const entry of entries) run.apply(entry);
    const { plan } = run;
    if (plan === undefined || entries.at(-1)?.kind === "done") {
      log.close();
      return undefined;
    }
    const { timeoutMs, gatherTimeoutMs } = plan;
    let job: Job;
    try {
      job = effects.readJob(decode(Buffer.from(plan.load, "base64")) as ValueMap, plan.user);
    } catch (error) {
      log.close();
      throw error;
    }
    const batch = new BatchJob(jid, run, job, { timeoutMs, gatherTimeoutMs }, log, effects);
    batch.#isHeld = true;
    batch.note({ kind: "restart", at: effects.nowMs() });
    return batch;
  }

  /**
   * Aborts a batch job that is not running, so that the next start does not resume it. Resolves when the abort is on disk.
   *
   * @returns false if it is over
   * @throws SaltworksError STORE_FAILED
   */
  static async abortStopped(jid: string, user: string, effects: BatchEffects): Promise<boolean> {
    const batch = BatchJob.reopen(jid, effects);
    if (batch === undefined) return false;
    const at = batch.#nowMs();
    batch.note({ kind: "abort", user, at });
    batch.note({ kind: "done", at, outcome: "aborted", culprit: user, ...batch.run.counts });
    const synced = batch.sync();
    batch.close();
    await synced;
    return true;
  }

  /** Lets steps begin, after the minions have reconnected. */
  release(): void {
    this.#isHeld = false;
    this.wake(0);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when all noted entries are on disk. If they cannot be written, the batch job stops. */
  async sync(): Promise<void> {
    if (this.#isClosed) return;
    try {
      await this.#log.sync();
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
  }

  /**
   * Pauses, resumes or aborts. Resolves when the entry is on disk.
   *
   * @returns false if the action changes nothing
   * @throws SaltworksError STORE_FAILED
   */
  async control(action: BatchControl, user: string): Promise<boolean> {
    const { state } = this.run;
    const isPaused = state === "paused";
    if (action === "abort" ? state === "stopping" : state === "stopping" || isPaused === (action === "pause"))
      return false;
    if (action === "resume" && !isPaused) return false;
    this.note({ kind: action, user, at: this.#nowMs() });
    await this.sync();
    this.wake(0);
    return true;
  }

  /** Stops the batch job. Its log holds the state to resume from. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#endLatePing();
    this.#log.close();
  }

  /** Begins the first step, when the ping is over. */
  beginSteps(pingJid: string, { answered, absent }: PingAnswers): void {
    if (this.#isClosed) return;
    const ids = inOrder(answered, this.job.target);
    const share = parseShare(this.run.plan?.size ?? "") ?? { kind: "count", count: 1 };
    this.note({ kind: "queue", ids, absent: [...absent].sort(), window: windowOf(share, ids.length) });
    if (absent.length > 0) this.#awaitLate(pingJid, absent);
    this.wake(0);
  }

  /** Sends the job of a step to these minions. `isAgain`: the job is stored already, and the tracker follows all minions that the step waits for. */
  async send(jid: string, ids: readonly string[], isAgain: boolean): Promise<void> {
    const load = new Map<Encodable, Encodable>([...this.job.load, ["tgt", ids], ["tgt_type", "list"]]);
    const kwargs = load.get("kwargs");
    if (kwargs instanceof Map) load.set("kwargs", new Map([...kwargs].filter(([name]) => name !== "batch")));
    load.set("batch", this.jid);
    const step: Job = { ...this.job, jid, target: ids, targetKind: "list", delimiter: ":", load, isQuiet: isAgain };
    const { hasLowerMasters: isDeep = false } = this.effects;
    const onAccepted = ({ minions }: Published) =>
      this.follow(jid, isAgain || isDeep ? TextList.of(this.run.awaited(jid)) : minions);
    const published = await this.effects.publish(step, onAccepted).catch((error: Error) => {
      // No minion has the job, so it is not followed.
      this.#following.delete(jid);
      throw error;
    });
    if (isDeep) return;
    const reached = new Set(published?.minions.texts() ?? []);
    const unreached = ids.filter((id) => !reached.has(id));
    this.giveUp(jid, unreached);
  }

  follow(jid: string, minions: TextList): void {
    if (this.#isClosed) return;
    // A step that is sent again is followed anew. The tracker then ends the earlier following, which must not count as the end of the step.
    const mark = Symbol();
    this.#following.set(jid, mark);
    this.effects.follow({
      jid,
      minions,
      ...this.times,
      isWhole: true,
      onReturn: (id, body) => this.#guard(() => this.#noteReturn(jid, id, body())),
      onDone: () => {
        if (this.#following.get(jid) !== mark) return;
        this.#following.delete(jid);
        this.giveUp(jid, this.run.awaited(jid));
      },
    });
  }

  noteRetcode(jid: string, id: string, retcode: number, body?: Uint8Array): void {
    if (this.#isClosed || !this.run.isAwaited(jid, id)) return;
    this.note({ kind: "return", jid, id, retcode, at: this.#nowMs() }, body);
    this.wake(this.run.activeCount === 0 ? 0 : batchGatherMs);
  }

  /** Gives up minions that did not answer or could not be reached. */
  giveUp(jid: string, ids: readonly string[]): void {
    this.#guard(() => {
      const silent = ids.filter((id) => this.run.isAwaited(jid, id));
      if (silent.length === 0) return;
      this.note({ kind: "silent", jid, ids: silent, at: this.#nowMs() });
      this.wake(0);
    });
  }

  /** Appends an entry to the log, applies it to the state, and fires it as an event for clients that follow. */
  note(entry: BatchEntry, body?: Uint8Array): void {
    const { offset, end } = this.#append(entry);
    this.run.apply(entry);
    const told = new Map<string, Encodable>(Object.entries(entry).filter(([name]) => name !== "load"));
    told.set("offset", offset).set("end", end);
    if (body !== undefined) told.set("body", new Packed(body));
    this.effects.fire(`saltworks/batch/${this.jid}/${entry.kind}`, told);
  }

  /** Stops the batch job if the write fails: the last line may be half written, so no other may follow. */
  #append(entry: BatchEntry): PlacedEntry {
    try {
      return this.#log.append(entry);
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
  }

  /** Plans the next move for `delayMs` from now, unless an earlier one is planned. */
  wake(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#isClosed || this.#isHeld || atMs >= this.#wakesAtMs) return;
    clearTimeout(this.#timer);
    this.#wakesAtMs = atMs;
    this.#timer = setTimeout(
      () => {
        this.#wakesAtMs = Number.POSITIVE_INFINITY;
        this.#guard(() => this.#advance());
      },
      Math.min(delayMs, timerMsMax),
    );
  }

  /** The wall clock, which the log uses. If the clock was set, waiting slots are corrected. */
  #nowMs(): number {
    const nowMs = this.effects.nowMs();
    const setByMs = this.#clock.look(nowMs);
    if (setByMs !== 0) this.run.noteClockSet(setByMs);
    return nowMs;
  }

  /**
   * Logs the error and begins no further step. The log gets no end, so that the next start resumes the job, unless it was over or is aborted.
   * A failed write also ends the step that wrote, which fails with the same error.
   */
  fail(error: Error): void {
    // The owner changed, and the step under way met it.
    if (error === this.#failure || (this.#isClosed && hasCode(error, "CLUSTER_UNAVAILABLE"))) return;
    this.#failure = error;
    this.effects.logger.error({ err: error, batch: this.jid }, "a batch job stops after an error");
    if (this.#isClosed) return;
    this.close();
    this.effects.onOver();
  }

  #advance(): void {
    for (;;) {
      const move = this.run.next(this.#nowMs());
      if (move.kind === "start") {
        this.#start(move.ids).catch((error: Error) => this.fail(error));
        continue;
      }
      if (move.kind === "over") this.#finish(move);
      else if (move.atMs !== undefined) this.wake(Math.max(1, move.atMs - this.#nowMs()));
      return;
    }
  }

  /** The entry is on disk before the job is sent, so that a crash leaves no unknown job. */
  async #start(ids: readonly string[]): Promise<void> {
    const jid = this.effects.newJid();
    this.note({ kind: "start", jid, ids, at: this.#nowMs() });
    await this.#log.sync();
    for (const waitMs of [...batchSendWaitsMs, undefined]) {
      if (this.#isClosed) return;
      // The batch job was aborted before the step was sent.
      if (this.run.state === "stopping") return this.giveUp(jid, ids);
      try {
        await this.send(jid, ids, false);
        if ((await this.effects.untilWritten()) && !this.#isClosed) this.note({ kind: "sent", jid });
        return;
      } catch (error) {
        // Waits while the master cannot publish. Else later minions would count as silent without having got the job.
        if (waitMs === undefined) throw error;
        this.effects.logger.error(
          { err: error, batch: this.jid, jid, waitMs },
          "a step of a batch job could not be sent",
        );
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #finish({ outcome, culprit }: Extract<BatchMove, { kind: "over" }>): void {
    this.note({ kind: "done", at: this.#nowMs(), outcome, culprit, ...this.run.counts });
    this.close();
    this.effects.onOver();
  }

  #noteReturn(jid: string, id: string, body: Uint8Array): void {
    if (this.run.isAwaited(jid, id)) this.noteRetcode(jid, id, retcodeIn(body), body);
  }

  #awaitLate(pingJid: string, absent: readonly string[]): void {
    this.#latePing = pingJid;
    this.effects.follow({
      jid: pingJid,
      minions: TextList.of(absent),
      timeoutMs: batchLateMs,
      isWhole: true,
      gatherTimeoutMs: this.times.gatherTimeoutMs,
      onReturn: (id) =>
        this.#guard(() => {
          if (this.#isClosed || this.run.isKnown(id)) return;
          this.note({ kind: "late", id });
          this.wake(0);
        }),
      onDone: () => undefined,
    });
  }

  /** Follows the ping again, without minions: that ends the earlier following, and is over at once. */
  #endLatePing(): void {
    if (this.#latePing === undefined) return;
    const nothing = { minions: TextList.of([]), onDone: () => undefined };
    this.effects.follow({ jid: this.#latePing, timeoutMs: 0, gatherTimeoutMs: 0, isWhole: true, ...nothing });
    this.#latePing = undefined;
  }

  /** Runs a step for the tracker and timers, which must not see its errors. */
  #guard(step: () => void): void {
    if (this.#isClosed) return;
    try {
      step();
    } catch (error) {
      this.fail(error as Error);
    }
  }
}

const timerMsMax = 2 ** 31 - 1;
