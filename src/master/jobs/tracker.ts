/**
 * Follows jobs until they are over: until all expected minions have returned, or the others are given up after Salt's rounds of
 * `saltutil.find_job`. Keeps a record of every minion's state for each job, for `jobRecordKeptMs`.
 * Timing: docs/protocol.md section 11.3 and docs/compatibility.md, "Life of a job".
 */
import {
  jobMinionsBelowMax,
  jobRecordKeptMs,
  jobRecordsMax,
  trackedJobsMax,
  trackedMinionsMax,
  unaskedRoundsMax,
} from "../../limits.ts";
import type { TextList } from "../../wire/text-list.ts";
import { type Below, type Followed, type FollowOptions, isOnlySyndic, isOver } from "./followed.ts";
import { MinionNumbers } from "./minion-numbers.ts";
import { type JobHead, JobRecord } from "./record.ts";

/** Longest delay of a timer in Node. With a longer one it would fire at once. */
const timerMsMax = 2 ** 31 - 1;
const sweepMs = 60_000;
const none: ReadonlySet<string> = new Set();

/** `runsStill`: the answer to find_job names a running job. `isFault`: the minion could not answer, and the job does not wait for it any more. */
export type FindJobAnswer = { readonly id: string; readonly runsStill: boolean; readonly isFault: boolean };

export type TrackerOptions = {
  /** Publishes find_job to those ids. Calls `onAsk` with its jid before it leaves, because minions of a cluster may answer before it resolves. */
  readonly findJob: (jid: string, ids: readonly string[], onAsk: (question: string) => void) => Promise<void>;
  readonly readFindJob: (id: string, body: Uint8Array) => FindJobAnswer;
  readonly isConnected: (id: string) => boolean;
  /** For a master with lower masters. */
  readonly below?: Below | undefined;
  readonly onFault: (error: Error) => void;
  readonly now?: () => number;
  /** A monotonic clock, for deadlines. */
  readonly steadyMs?: () => number;
};

/** `onEnd`: called when no more answers are awaited. */
type Question = { readonly onAnswer: (answer: FindJobAnswer) => void; readonly onEnd?: () => void };

export class JobTracker {
  readonly counters = { followed: 0, findJobs: 0, letGo: 0, recordsForgotten: 0, listsCut: 0 };
  readonly numbers = new MinionNumbers();
  /** Minions of the largest job to which a lower master has added some. */
  largestGrown = 0;
  readonly #options: TrackerOptions;
  readonly #now: () => number;
  readonly #steadyMs: () => number;
  readonly #jobs = new Map<string, Followed>();
  /** Oldest first. */
  readonly #records = new Map<string, JobRecord>();
  /** Handlers of answers, by the jid of find_job. */
  readonly #questions = new Map<string, Question>();
  readonly #sweep: NodeJS.Timeout;
  #openCount = 0;
  #minionCount = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#steadyMs = options.steadyMs ?? (() => performance.now());
    this.#sweep = setInterval(() => this.forgetOld(), sweepMs).unref();
  }

  get followedCount(): number {
    return this.#jobs.size;
  }

  get recordCount(): number {
    return this.#records.size;
  }

  /** Minions of all kept jobs. A minion of several jobs counts for each. */
  get minionCount(): number {
    return this.#minionCount;
  }

  /** Whether a return would change a record or answer a question. */
  get isListening(): boolean {
    return this.#openCount > 0 || this.#jobs.size > 0 || this.#questions.size > 0;
  }

  /** The record of a job; undefined if it was forgotten. */
  record(jid: string): JobRecord | undefined {
    return this.#records.get(jid);
  }

  /** Ends a job that could not be sent: no minion has it, so none is asked about it. */
  letGo(jid: string): void {
    const job = this.#jobs.get(jid);
    if (job !== undefined) this.#finish(job);
  }

  /** Whether the job is still waited for. */
  isFollowed(jid: string): boolean {
    return this.#jobs.has(jid);
  }

  /** Jobs with minions that are neither back nor given up. A job that is not followed is never given up. */
  *openJids(): Generator<string> {
    if (this.#openCount > 0)
      for (const record of this.#records.values())
        if (!record.isComplete && record.overMs === undefined) yield record.jid;
  }

  /** Keeps a job's record without following the job. */
  track(head: JobHead): JobRecord {
    const known = this.#records.get(head.jid);
    if (known !== undefined) this.#forget(known);
    this.forgetOld(head.minions.count);
    const record = new JobRecord(head, this.numbers, this.#now());
    record.trackedMs = this.#steadyMs();
    this.#records.set(head.jid, record);
    this.#minionCount += record.minionCount;
    if (!record.isComplete) this.#openCount += 1;
    return record;
  }

  noteSent(jid: string): void {
    const record = this.#records.get(jid);
    if (record !== undefined) record.sentMs ??= this.#now();
  }

  follow(options: FollowOptions): void {
    this.counters.followed += 1;
    const { jid, timeoutMs, gatherTimeoutMs, onReturn, onDone } = options;
    // Users may choose a job id, so another job of this id may be followed. That one ends here, because its timer would end this one.
    const former = this.#jobs.get(jid);
    if (former !== undefined) this.#finish(former);
    if (this.#jobs.size >= trackedJobsMax) this.#letOldestGo();
    const record = this.track(options);
    const nowMs = this.#steadyMs();
    const { below } = this.#options;
    const job: Followed = {
      timeoutMs,
      gatherTimeoutMs,
      ...(onReturn === undefined ? {} : { onReturn }),
      onDone,
      record,
      firstDeadlineMs: nowMs + timeoutMs,
      listsUntilMs: options.isWhole === true ? undefined : below && nowMs + below.waitMs,
      laterDeadlineMs: new Map(),
      absent: new Set(options.leavesAbsent === true ? this.#absentOf(options.minions) : []),
      roundEndsMs: nowMs + timeoutMs,
      isAnyRunning: true,
      unaskedRounds: 0,
      isAsking: false,
      findJobJid: undefined,
      timer: undefined,
    };
    this.#jobs.set(jid, job);
    for (const id of this.#syndics) if (record.has(id)) job.absent.add(id);
    if (this.#isOver(job)) this.#finish(job);
    else this.#schedule(job, job.roundEndsMs);
  }

  /**
   * Adds minions to which a lower master has sent a job. A syndic among them is also a minion of its master.
   *
   * @returns the ids that the job did not expect
   */
  expectMore(jid: string, ids: readonly string[]): readonly string[] {
    const record = this.#records.get(jid);
    if (record === undefined) return [];
    const [countBefore, wasComplete] = [record.minionCount, record.isComplete];
    const added = record.expectMore(ids, jobMinionsBelowMax);
    const isAdded = new Set(added);
    this.largestGrown = Math.max(this.largestGrown, record.minionCount);
    if (record.minionCount >= jobMinionsBelowMax && !ids.every((id) => record.has(id))) this.counters.listsCut += 1;
    this.#minionCount += record.minionCount - countBefore;
    if (wasComplete && !record.isComplete) this.#openCount += 1;
    const job = this.#jobs.get(jid);
    if (job === undefined) return added;
    const deadlineMs = this.#steadyMs() + job.timeoutMs;
    for (const id of ids) if (job.absent.delete(id) || isAdded.has(id)) job.laterDeadlineMs.set(id, deadlineMs);
    return added;
  }

  /** Notes a return. `body` is called only if a follower needs it. */
  noteReturn(jid: string, id: string, body: () => Uint8Array, isFailed = false): void {
    const record = this.#records.get(jid);
    if (record === undefined) {
      this.#questions.get(jid)?.onAnswer(this.#options.readFindJob(id, body()));
      return;
    }
    const wasComplete = record.isComplete;
    const countBefore = record.minionCount;
    if (!record.noteReturn(id, isFailed, this.#now())) return;
    this.#minionCount += record.minionCount - countBefore;
    if (record.isComplete && !wasComplete) this.#openCount -= 1;
    const job = this.#jobs.get(jid);
    job?.absent.delete(id);
    job?.onReturn?.(id, body);
    if (job !== undefined && this.#isOver(job)) this.#finish(job);
  }

  /**
   * Asks minions whether they run a job. Calls `onAnswer` with each answer. Resolves when all have answered or time is up.
   *
   * @throws what publishing throws
   */
  async askRunning(
    jid: string,
    ids: readonly string[],
    timeoutMs: number,
    onAnswer: (answer: FindJobAnswer) => void,
  ): Promise<void> {
    this.counters.findJobs += 1;
    const waiting = new Set(ids);
    let question: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const take = (answer: FindJobAnswer) => {
      this.#noteInRecord(jid, answer);
      if (waiting.delete(answer.id)) onAnswer(answer);
      if (waiting.size === 0) end();
    };
    try {
      await this.#options.findJob(jid, ids, (asked) => {
        question = asked;
        this.#questions.set(asked, { onAnswer: take, onEnd: end });
      });
      if (question === undefined) return;
      this.#records.get(jid)?.noteAsked(ids);
      timer = setTimeout(end, timeoutMs);
      await ended;
    } finally {
      clearTimeout(timer);
      if (question !== undefined) this.#questions.delete(question);
    }
  }

  /**
   * Forgets records older than `jobRecordKeptMs`, and over the bounds the oldest ones that no client follows.
   * `minionCount`: minions of the job to be added.
   */
  forgetOld(minionCount = 0): void {
    const oldMs = this.#steadyMs() - jobRecordKeptMs;
    for (const record of this.#records.values()) {
      const isFull = this.#records.size >= jobRecordsMax || this.#minionCount + minionCount > trackedMinionsMax;
      if (!isFull && record.trackedMs >= oldMs) return;
      if (this.#jobs.has(record.jid)) continue;
      if (isFull) this.counters.recordsForgotten += 1;
      this.#forget(record);
    }
  }

  close(): void {
    clearInterval(this.#sweep);
    for (const job of this.#jobs.values()) clearTimeout(job.timer);
    this.#jobs.clear();
    for (const { onEnd } of this.#questions.values()) onEnd?.();
    this.#questions.clear();
  }

  #forget(record: JobRecord): void {
    this.#records.delete(record.jid);
    this.#minionCount -= record.minionCount;
    if (!record.isComplete) this.#openCount -= 1;
    record.release();
  }

  #absentOf(minions: TextList): string[] {
    return minions.texts().filter((id) => !this.#options.isConnected(id));
  }

  get #syndics(): ReadonlySet<string> {
    return this.#options.below?.ids() ?? none;
  }

  #isOver(job: Followed): boolean {
    return isOver(job, this.#steadyMs());
  }

  #noteAnswer(job: Followed, answer: FindJobAnswer): void {
    this.#noteInRecord(job.record.jid, answer);
    if (answer.isFault) {
      job.laterDeadlineMs.delete(answer.id);
      if (this.#isOver(job)) this.#finish(job);
      return;
    }
    if (!answer.runsStill) return;
    job.laterDeadlineMs.set(answer.id, this.#steadyMs() + job.timeoutMs);
    job.isAnyRunning = true;
  }

  #noteInRecord(jid: string, { id, isFault, runsStill }: FindJobAnswer): void {
    const record = this.#records.get(jid);
    if (record === undefined) return;
    const [countBefore, wasComplete] = [record.minionCount, record.isComplete];
    if (isFault) record.noteFault(id);
    else if (runsStill) record.noteRunning(id, this.#now());
    else record.noteIdle(id);
    this.#minionCount += record.minionCount - countBefore;
    if (wasComplete && !record.isComplete) this.#openCount += 1;
  }

  #schedule(job: Followed, atMs: number): void {
    clearTimeout(job.timer);
    const nowMs = this.#steadyMs();
    const { listsUntilMs = 0 } = job;
    const nextMs = listsUntilMs > nowMs ? Math.min(atMs, listsUntilMs) : atMs;
    const delayMs = Math.min(Math.max(1, nextMs - nowMs), timerMsMax);
    job.timer = setTimeout(() => this.#endRound(job), delayMs);
  }

  /** Ends a round of find_job. Asks again if a minion was running in it, else gives up when the deadlines of all minions have passed. */
  #endRound(job: Followed): void {
    const nowMs = this.#steadyMs();
    const next = () => (nowMs < job.roundEndsMs ? job.roundEndsMs : this.#nextRound(job, nowMs));
    const nextMs = this.#isOver(job) ? undefined : next();
    if (nextMs === undefined) this.#finish(job);
    else this.#schedule(job, nextMs);
  }

  /** When to look again; undefined if the job is over. */
  #nextRound(job: Followed, nowMs: number): number | undefined {
    if (job.isAnyRunning || job.isAsking) {
      job.roundEndsMs = nowMs + job.gatherTimeoutMs + (this.#options.below?.waitMs ?? 0);
      // Minions cannot answer a question that is still being published.
      if (!job.isAsking) this.#beginRound(job);
      return job.roundEndsMs;
    }
    let latestMs = 0;
    for (const id of job.record.outstanding()) {
      latestMs = Math.max(latestMs, job.laterDeadlineMs.get(id) ?? job.firstDeadlineMs);
    }
    return latestMs > nowMs ? latestMs : undefined;
  }

  #beginRound(job: Followed): void {
    job.isAnyRunning = false;
    job.isAsking = true;
    this.#ask(job)
      .catch((error: Error) => {
        this.#options.onFault(error);
        // The minions were not asked, so they do not count as silent: asks them in the next round.
        job.unaskedRounds += 1;
        job.isAnyRunning ||= job.unaskedRounds <= unaskedRoundsMax;
      })
      .finally(() => {
        job.isAsking = false;
      });
  }

  async #ask(job: Followed): Promise<void> {
    this.counters.findJobs += 1;
    this.#dropQuestion(job);
    const ids = job.record.outstanding().filter((id) => !isOnlySyndic(job, id, this.#syndics));
    if (ids.length === 0) return;
    await this.#options.findJob(job.record.jid, ids, (asked) => {
      if (this.#jobs.get(job.record.jid) !== job) return;
      job.findJobJid = asked;
      this.#questions.set(asked, { onAnswer: (answer) => this.#noteAnswer(job, answer) });
    });
    if (job.findJobJid !== undefined) job.record.noteAsked(ids);
  }

  #finish(job: Followed): void {
    const { record } = job;
    clearTimeout(job.timer);
    this.#dropQuestion(job);
    this.#jobs.delete(record.jid);
    record.noteOver(this.#now(), (id) => !this.#options.isConnected(id));
    // A listener that throws must not stop timers or publishes.
    try {
      const silent = [...record.silent()].filter(([id]) => !isOnlySyndic(job, id, this.#syndics));
      job.onDone(record.returnedIds(), new Map(silent));
    } catch (error) {
      this.#options.onFault(error as Error);
    }
  }

  #dropQuestion(job: Followed): void {
    if (job.findJobJid !== undefined) this.#questions.delete(job.findJobJid);
    job.findJobJid = undefined;
  }

  #letOldestGo(): void {
    const oldest = this.#jobs.values().next().value;
    if (oldest === undefined) return;
    this.counters.letGo += 1;
    this.#finish(oldest);
  }
}
