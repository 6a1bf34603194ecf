/**
 * Keeps jobs for absent minions until a deadline. When a minion comes back, asks the job cache whether it has returned and, up to `deliveryAsksMax`
 * times, the minion whether it runs the job; then sends the job to it alone, under the same job id. docs/decisions/0019-jobs-for-absent-minions.md.
 */
import {
  deliveryAsksMax,
  deliveryFaultDelayMsMax,
  deliveryReconciledMax,
  deliveryRoundsMax,
  deliveryScannedMax,
} from "../../limits.ts";
import type { PendingJobRecord, StoredPendingJob } from "../../store/jobs/pending-jobs.ts";
import { bootMs } from "../upkeep/clock-step.ts";
import { noRoom, PublishBudget } from "./delivery-bounds.ts";
import { type Appearance, type DeliveriesOptions, newDeliveryCounters, settleMs } from "./delivery-effects.ts";
import { type Due, type Round, SilentMinions, takeReady } from "./delivery-turns.ts";
import { FaultDelay } from "./fault-delay.ts";
import { marksDamaged, PendingJob } from "./pending-job.ts";

const tickMs = 250;
/** Answers to find_job are gathered for this time, so that minions that come back together cost one publish. */
const gatherReadyMs = 250;
const scanMs = 1_000;

export class Deliveries {
  readonly counters = newDeliveryCounters();
  readonly #options: DeliveriesOptions;
  readonly #now: () => number;
  readonly #steadyMs: () => number;
  readonly #bootMs: () => number;
  readonly #jobs = new Map<string, PendingJob>();
  /** Minions that lack a job and are not known to be connected. Their next sign of life counts as coming back. */
  readonly #watched = new Set<string>();
  readonly #silent = new SilentMinions();
  readonly #due = new Map<string, Due>();
  readonly #rounds: Round[] = [];
  readonly #scan: NodeJS.Timeout;
  #tick: NodeJS.Timeout | undefined;
  #roundsUnderWay = 0;
  readonly #budget: PublishBudget;
  #minionCount = 0;
  /** Jobs that the present pass has not scanned yet. */
  #scannedJobs: PendingJob[] = [];
  #isClosed = false;
  readonly #faultDelay = new FaultDelay(settleMs.start, deliveryFaultDelayMsMax);

  private constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#steadyMs = options.steadyMs ?? (() => performance.now());
    this.#bootMs = options.bootMs ?? bootMs;
    this.#budget = new PublishBudget(this.#steadyMs());
    this.#scan = setInterval(() => this.scan(), scanMs).unref();
  }

  /** Loads the jobs that an earlier master process left. Minions that returned meanwhile are settled in the background. */
  static open(options: DeliveriesOptions): Deliveries {
    const deliveries = new Deliveries(options);
    for (const stored of options.store.all()) {
      const job = new PendingJob(stored, options.numbers);
      deliveries.#keep(job);
      if (stored.areMarksDamaged === true) options.onFault(marksDamaged(job.jid));
      // Before the first scan: a minion that is heard until then would count as one that was connected all the time.
      deliveries.watch(job.jid, job.left());
      deliveries.#reconcile(job).catch(options.onFault);
    }
    return deliveries;
  }

  get jobCount(): number {
    return this.#jobs.size;
  }

  get minionCount(): number {
    return this.#minionCount;
  }

  get dueCount(): number {
    return this.#due.size;
  }

  /**
   * Keeps a job that is about to be published; when this resolves it survives a crash.
   *
   * @throws SaltworksError QUEUE_FULL, STORE_FAILED
   */
  async keep(record: PendingJobRecord): Promise<void> {
    const refusal = noRoom(this.#jobs.size, this.#minionCount, record.minions.length);
    if (refusal !== undefined) {
      this.counters.refused += 1;
      throw refusal;
    }
    // Users may choose a job id. The new job replaces one that waits under the same id.
    for (let former = this.job(record.jid); former; former = this.job(record.jid)) await this.#end(former);
    const minions = [...new Set(record.minions)];
    const job = new PendingJob(
      { record: { ...record, minions }, marks: new Uint8Array(minions.length) },
      this.#options.numbers,
    );
    this.#keep(job);
    try {
      await this.#options.store.put(job.record);
    } catch (error) {
      this.#drop(job);
      throw error;
    }
    this.counters.kept += 1;
  }

  /** Notes minions that did not answer, or were not heard yet. Their next sign of life counts as coming back. */
  watch(jid: string, ids: Iterable<string>): void {
    const job = this.#jobs.get(jid);
    const lacking = [...ids].filter((id) => job?.lacks(id));
    for (const id of lacking) this.#watched.add(id);
    this.#silent.note(lacking, this.#steadyMs());
  }

  noteReturn(jid: string, id: string): void {
    const job = this.#jobs.get(jid);
    if (job?.settle(id, "returned")) this.#finishIfDone(job);
  }

  /** Called for every verified request. */
  noteContact(id: string): void {
    if (this.#watched.size > 0 && this.#watched.delete(id) && !this.#due.has(id)) this.noteAppearance(id, "contact");
  }

  /** `isTold`: another member has said so. */
  noteAppearance(id: string, how: Appearance, isTold = false): void {
    // Other members hear of a contact by presence.
    if (!isTold && how !== "contact" && this.#isWanted(id, false)) this.#options.sharing?.appeared(id, how);
    if (!this.#isWanted(id)) return;
    this.counters.appearances += 1;
    this.#watched.delete(id);
    this.#silent.delete(id);
    this.#due.set(id, { atMs: this.#steadyMs() + settleMs[how], asksLeft: deliveryAsksMax });
    this.#tick ??= setTimeout(() => this.#run(), tickMs);
  }

  /** Withdraws all jobs from a minion whose key was removed. A later minion of this id is another one. */
  forget(id: string): void {
    for (const job of this.#jobs.values()) if (job.settle(id, "withdrawn")) this.#finishIfDone(job);
    for (const ids of [this.#watched, this.#silent, this.#due]) ids.delete(id);
  }

  jobs(): PendingJob[] {
    return [...this.#jobs.values()];
  }

  job(jid: string): PendingJob | undefined {
    return this.#jobs.get(jid);
  }

  /**
   * Withdraws a job from one minion, or from all that still lack it. Resolves when that is on disk.
   *
   * @returns the minions, sorted; undefined for a job that is not pending
   */
  async cancel(jid: string, minionId?: string): Promise<string[] | undefined> {
    const job = this.#jobs.get(jid);
    if (job === undefined) return undefined;
    if (!job.isActive && this.#options.sharing !== undefined) return this.#options.sharing.cancel(jid, minionId);
    const wanted = minionId === undefined ? job.left() : [minionId];
    const withdrawn = wanted.filter((id) => job.settle(id, "withdrawn"));
    this.counters.withdrawn += withdrawn.length;
    await (job.leftCount === 0 ? this.#end(job) : this.#write(job));
    return withdrawn.sort();
  }

  /** Keeps a job that another member owns. */
  async adopt(stored: StoredPendingJob): Promise<void> {
    if (this.#isClosed) return;
    const former = this.#jobs.get(stored.record.jid);
    if (former !== undefined) this.#drop(former);
    const job = new PendingJob(stored, this.#options.numbers);
    job.isChanged = true;
    this.#keep(job);
    await this.#options.store.put(job.record);
  }

  /** Sends the job from here on. Minions that lack it and are connected count as coming back. */
  async takeOver(job: PendingJob): Promise<void> {
    job.isActive = true;
    await this.#reconcile(job);
    this.watch(job.jid, job.left());
    for (const id of job.left()) if (this.#options.isConnected(id)) this.noteAppearance(id, "contact", true);
  }

  /** Forgets a job that is over. */
  async dropOver(jid: string): Promise<void> {
    const job = this.#jobs.get(jid);
    if (job !== undefined) await this.#end(job);
  }

  /** Ends jobs past their deadline, writes changed marks, and notes absent minions. */
  scan(): void {
    const nowMs = this.#bootMs();
    for (const job of this.#jobs.values()) {
      if (job.endsMs <= nowMs || job.isDone(this.#options.sharing)) this.#end(job).catch(this.#options.onFault);
      else if (job.isChanged) this.#write(job).catch(this.#options.onFault);
    }
    if (this.#scannedJobs.length === 0) this.#scannedJobs = this.jobs();
    for (let looked = 0; looked < deliveryScannedMax; ) {
      const job = this.#scannedJobs.pop();
      if (job === undefined) return;
      looked += job.minionCount;
      for (const id of job.left()) if (!this.#due.has(id)) this.#lookAt(id, job);
    }
  }

  /** One that stays connected does not come back, and may only have been too busy to answer. */
  #lookAt(id: string, job: PendingJob): void {
    if (!this.#options.isConnected(id)) this.#watched.add(id);
    else if (job.isActive && this.#silent.isTime(id, job, this.#steadyMs())) this.noteAppearance(id, "contact", true);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#scan);
    clearTimeout(this.#tick);
    await Promise.allSettled(this.jobs().map((job) => (job.isChanged ? this.#write(job) : undefined)));
    await this.#options.store.close();
  }

  #keep(job: PendingJob): void {
    [job.keptMs, job.endsMs] = [this.#steadyMs(), this.#bootMs() + job.record.deadlineMs - this.#now()];
    this.#jobs.set(job.jid, job);
    this.#minionCount += job.minionCount;
  }

  #drop(job: PendingJob): void {
    if (this.#jobs.get(job.jid) !== job) return;
    this.#jobs.delete(job.jid);
    this.#minionCount -= job.minionCount;
    job.release();
    if (this.#jobs.size > 0) return;
    for (const ids of [this.#watched, this.#silent, this.#due]) ids.clear();
  }

  /** Whether a job of this master waits for the minion; with `isActive` false, a job that another member owns. */
  #isWanted(id: string, isActive = true): boolean {
    for (const job of this.#jobs.values()) if (job.isActive === isActive && job.lacks(id)) return true;
    return false;
  }

  #finishIfDone(job: PendingJob): void {
    if (job.isDone(this.#options.sharing)) this.#end(job).catch(this.#options.onFault);
  }

  /** Removes the job from the store, then from memory. If the store fails, the job stays, and the next scan tries again. */
  async #end(job: PendingJob): Promise<void> {
    if (this.#jobs.get(job.jid) !== job) return;
    job.ending ??= this.#remove(job).finally(() => {
      job.ending = undefined;
    });
    await job.ending;
  }

  async #remove(job: PendingJob): Promise<void> {
    await this.#options.store.remove(job.jid);
    if (job.endsMs <= this.#bootMs()) this.counters.expired += job.leftCount;
    this.#drop(job);
  }

  async #write(job: PendingJob): Promise<void> {
    // Marks written after its removal would belong to the next job of this id.
    if (job.ending !== undefined) return job.ending;
    job.isChanged = false;
    try {
      await this.#options.store.putMarks(job.jid, job.marks);
    } catch (error) {
      job.isChanged = true;
      throw error;
    }
  }

  async #reconcile(job: PendingJob): Promise<void> {
    const left = job.left();
    for (let start = 0; start < left.length && !this.#isClosed; start += deliveryReconciledMax) {
      const part = left.slice(start, start + deliveryReconciledMax);
      for (const id of await this.#options.whoReturned(job.jid, part)) job.settle(id, "returned");
    }
    this.#finishIfDone(job);
  }

  /** Plans rounds for due minions, and begins as many as may be under way. */
  #run(): void {
    this.#tick = undefined;
    if (this.#isClosed) return;
    const nowMs = this.#steadyMs();
    if (this.#rounds.length < deliveryRoundsMax) this.#planRounds(nowMs);
    this.#budget.earn(nowMs);
    while (this.#rounds.length > 0 && this.#roundsUnderWay < deliveryRoundsMax && this.#budget.takeRound()) {
      const round = this.#rounds.shift() as Round;
      this.#roundsUnderWay += 1;
      this.#go(round)
        .catch((error: Error) => this.#noteFault(error, round.ids, round.asksLeft))
        .finally(() => {
          round.job.vacate(round.ids);
          this.#roundsUnderWay -= 1;
        });
    }
    if (this.#due.size > 0 || this.#rounds.length > 0) this.#tick = setTimeout(() => this.#run(), tickMs);
  }

  #planRounds(nowMs: number): void {
    for (const [asksLeft, ids] of takeReady(this.#due, nowMs)) this.#planRound(ids, asksLeft, nowMs);
  }

  #planRound(appeared: readonly string[], asksLeft: number, nowMs: number): void {
    for (const job of this.#jobs.values()) {
      if (!job.isActive) continue;
      const lacking = appeared.filter((id) => job.lacks(id) && this.#options.isAccepted(id));
      // A minion that appeared again while it is asked may not have got the question, so it is asked again later.
      for (const id of lacking) if (job.isBusy(id)) this.#due.set(id, { atMs: nowMs + scanMs, asksLeft });
      const ids = lacking.filter((id) => !job.isBusy(id));
      if (ids.length === 0) continue;
      job.occupy(ids);
      this.#rounds.push({ job, ids, asksLeft });
    }
  }

  /** Asks the job cache, then the minions of the round, and sends the job to minions that need it. */
  async #go({ job, ids, asksLeft }: Round): Promise<void> {
    for (const id of await this.#options.whoReturned(job.jid, ids)) {
      if (job.settle(id, "returned")) this.counters.foundReturned += 1;
    }
    this.#finishIfDone(job);
    const asked = ids.filter((id) => job.lacks(id));
    if (asked.length === 0 || this.#isClosed) return;
    this.counters.asked += asked.length;
    const unanswered = new Set(asked);
    const sending: Promise<void>[] = [];
    let ready: string[] = [];
    const flush = () => {
      const ids = ready;
      ready = [];
      if (ids.length === 0) return;
      sending.push(this.#send(job, ids, asksLeft).catch((error: Error) => this.#noteFault(error, ids, asksLeft)));
    };
    let timer: NodeJS.Timeout | undefined;
    await this.#options.askRunning(job.jid, asked, this.#options.gatherTimeoutMs, (answer) => {
      unanswered.delete(answer.id);
      if (answer.runsStill) this.counters.foundRunning += 1;
      if (answer.isFault) this.#silent.note([answer.id], this.#steadyMs());
      if (answer.runsStill || answer.isFault) return;
      ready.push(answer.id);
      if (ready.length === 1) timer = setTimeout(flush, gatherReadyMs);
    });
    clearTimeout(timer);
    flush();
    this.counters.unanswered += unanswered.size;
    this.#askAgain(unanswered, asksLeft - 1);
    await Promise.all(sending);
  }

  /** A fault of the master does not use up the minion's asks. Delays grow while faults go on. */
  #noteFault(error: Error, ids: readonly string[], asksLeft: number): void {
    this.#options.onFault(error);
    this.#askAgain(ids, asksLeft, this.#faultDelay.next(this.#steadyMs()));
  }

  #askAgain(ids: Iterable<string>, asksLeft: number, delayMs = settleMs.start): void {
    if (this.#isClosed) return;
    const atMs = this.#steadyMs() + delayMs;
    if (asksLeft <= 0) this.#silent.note(ids, this.#steadyMs());
    else for (const id of ids) if (!this.#due.has(id) && this.#isWanted(id)) this.#due.set(id, { atMs, asksLeft });
    if (this.#due.size > 0) this.#tick ??= setTimeout(() => this.#run(), tickMs);
  }

  /** Writes the try to disk before it sends the job, so that the try counts after a crash. The minion is then asked before it gets the job again. */
  async #send(job: PendingJob, ids: readonly string[], asksLeft: number): Promise<void> {
    const { granted, undecided } = await this.#options.stillGranted(job.record, ids);
    const kept = new Set([...granted, ...undecided]);
    for (const id of ids) if (!kept.has(id) && job.settle(id, "withdrawn")) this.counters.withdrawn += 1;
    // A returning minion soon sends its grains, which may decide whether the grants cover it.
    this.#askAgain(undecided, asksLeft - 1);
    const tried = granted.filter((id) => {
      if (!job.lacks(id)) return false;
      const isAllowed = job.countTry(id);
      if (!isAllowed) this.counters.spent += 1;
      return isAllowed;
    });
    if (this.#jobs.get(job.jid) !== job || !job.isActive) return;
    let taken = tried;
    try {
      await this.#write(job);
      const isInTime = this.#bootMs() < job.endsMs && !this.#isClosed && this.#jobs.get(job.jid) === job;
      taken = isInTime && job.isActive ? tried.filter((id) => job.lacks(id)) : [];
      if (taken.length > 0) await this.#options.send(job.record, taken);
      this.counters.sent += taken.length;
      // One whose connection broke in this moment does not have it, and a minion that connects again does not authenticate again.
      this.#silent.noteSent(job, taken, this.#steadyMs());
    } catch (error) {
      job.takeBackTries(taken);
      throw error;
    }
    this.#finishIfDone(job);
  }
}
