/**
 * Follows jobs until they are over: all expected minions have returned, or the rest is given up after Salt's rounds of
 * `saltutil.find_job`. docs/protocol.md section 11.3 and docs/compatibility.md, "Life of a job", tell the timing.
 */
import { trackedJobsMax } from "../limits.ts";
import type { TextList } from "../wire/text-list.ts";

/** Longest timer of Node; a longer one would fire at once, again and again. */
const timerMsMax = 2 ** 31 - 1;

export type SilentReason = "No response" | "Not connected";

export type FollowOptions = {
  readonly jid: string;
  readonly minions: TextList;
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
  readonly onReturn?: (id: string, body: () => Uint8Array) => void;
  readonly onDone: (returned: readonly string[], silent: ReadonlyMap<string, SilentReason>) => void;
};

/** `runsStill`: whether the find_job answer names a running job. `isFault`: the minion could not answer; it is waited for no more. */
export type FindJobAnswer = { readonly id: string; readonly runsStill: boolean; readonly isFault: boolean };

export type TrackerOptions = {
  /** Publishes find_job to those ids; resolves with its jid, or undefined if nobody could be asked. */
  readonly findJob: (jid: string, ids: readonly string[]) => Promise<string | undefined>;
  readonly readFindJob: (id: string, body: Uint8Array) => FindJobAnswer;
  readonly isConnected: (id: string) => boolean;
  readonly onFault: (error: Error) => void;
  readonly now?: () => number;
};

type Followed = FollowOptions & {
  /** Made when first asked for: of 100,000 minions it takes 20 ms, which the publish need not wait for. */
  expected: Set<string> | undefined;
  readonly returned: Set<string>;
  readonly firstDeadlineMs: number;
  /** Of those that said that they still run. */
  readonly laterDeadlineMs: Map<string, number>;
  roundEndsMs: number;
  isAnyRunning: boolean;
  findJobJid: string | undefined;
  timer: NodeJS.Timeout | undefined;
};

export class JobTracker {
  readonly counters = { followed: 0, findJobs: 0, letGo: 0 };
  readonly #options: TrackerOptions;
  readonly #now: () => number;
  readonly #jobs = new Map<string, Followed>();
  /** find_job's own jid to the job it asks about. */
  readonly #questions = new Map<string, Followed>();

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get followedCount(): number {
    return this.#jobs.size;
  }

  follow(options: FollowOptions): void {
    this.counters.followed += 1;
    // A job id that a user gives may be one that is followed already: that one is over, or its timer would end this one.
    const former = this.#jobs.get(options.jid);
    if (former !== undefined) this.#finish(former);
    if (this.#jobs.size >= trackedJobsMax) this.#letOldestGo();
    const nowMs = this.#now();
    const job: Followed = {
      ...options,
      expected: undefined,
      returned: new Set(),
      firstDeadlineMs: nowMs + options.timeoutMs,
      laterDeadlineMs: new Map(),
      roundEndsMs: nowMs + options.timeoutMs,
      isAnyRunning: true,
      findJobJid: undefined,
      timer: undefined,
    };
    this.#jobs.set(options.jid, job);
    if (job.minions.count === 0) this.#finish(job);
    else this.#schedule(job, job.roundEndsMs);
  }

  /** A return came in. `body` is asked for only if somebody needs it. */
  noteReturn(jid: string, id: string, body: () => Uint8Array): void {
    const job = this.#jobs.get(jid);
    if (job !== undefined) {
      const expected = expectedOf(job).add(id);
      if (!job.returned.has(id)) job.onReturn?.(id, body);
      job.returned.add(id);
      if (job.returned.size >= expected.size) this.#finish(job);
      return;
    }
    const asking = this.#questions.get(jid);
    if (asking !== undefined) this.#noteAnswer(asking, this.#options.readFindJob(id, body()));
  }

  close(): void {
    for (const job of this.#jobs.values()) clearTimeout(job.timer);
    this.#jobs.clear();
    this.#questions.clear();
  }

  #noteAnswer(job: Followed, answer: FindJobAnswer): void {
    if (answer.isFault) {
      expectedOf(job).delete(answer.id);
      job.laterDeadlineMs.delete(answer.id);
      if (job.returned.size >= expectedOf(job).size) this.#finish(job);
      return;
    }
    if (!answer.runsStill) return;
    expectedOf(job).add(answer.id);
    job.laterDeadlineMs.set(answer.id, this.#now() + job.timeoutMs);
    job.isAnyRunning = true;
  }

  #schedule(job: Followed, atMs: number): void {
    clearTimeout(job.timer);
    const delayMs = Math.min(Math.max(1, atMs - this.#now()), timerMsMax);
    job.timer = setTimeout(() => this.#endRound(job), delayMs);
  }

  /** A round is over: ask again if anybody was running in it, else give up once every personal deadline has passed. */
  #endRound(job: Followed): void {
    const nowMs = this.#now();
    const nextMs = nowMs < job.roundEndsMs ? job.roundEndsMs : this.#nextRound(job, nowMs);
    if (nextMs === undefined) this.#finish(job);
    else this.#schedule(job, nextMs);
  }

  /** When to look again; undefined if the job is over. */
  #nextRound(job: Followed, nowMs: number): number | undefined {
    if (job.isAnyRunning) {
      job.isAnyRunning = false;
      job.roundEndsMs = nowMs + job.gatherTimeoutMs;
      this.#ask(job).catch(this.#options.onFault);
      return job.roundEndsMs;
    }
    let latestMs = 0;
    for (const id of this.#outstanding(job)) {
      latestMs = Math.max(latestMs, job.laterDeadlineMs.get(id) ?? job.firstDeadlineMs);
    }
    return latestMs > nowMs ? latestMs : undefined;
  }

  async #ask(job: Followed): Promise<void> {
    this.counters.findJobs += 1;
    this.#dropQuestion(job);
    const jid = await this.#options.findJob(job.jid, this.#outstanding(job));
    if (jid === undefined || !this.#jobs.has(job.jid)) return;
    job.findJobJid = jid;
    this.#questions.set(jid, job);
  }

  #outstanding(job: Followed): string[] {
    return [...expectedOf(job)].filter((id) => !job.returned.has(id));
  }

  #finish(job: Followed): void {
    clearTimeout(job.timer);
    this.#dropQuestion(job);
    this.#jobs.delete(job.jid);
    const silent = new Map<string, SilentReason>();
    for (const id of this.#outstanding(job))
      silent.set(id, this.#options.isConnected(id) ? "No response" : "Not connected");
    job.onDone([...job.returned], silent);
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

function expectedOf(job: Followed): Set<string> {
  job.expected ??= new Set(job.minions.texts());
  return job.expected;
}
