/**
 * One class of requests of a storm: sends them over its connections, one outstanding on each, and records when each was planned, sent and answered.
 * Keeps replies as they come; they are verified after the measured span.
 */
import { LatencyHistogram } from "../../load/histogram.ts";
import { lateMs, Pacer } from "../../load/open-loop.ts";
import { AwaitedPublishes } from "./awaited-publishes.ts";
import type { Connection } from "./connection.ts";
import type { LaneOutcome } from "./messages.ts";
import type { Work } from "./work.ts";

/** A connection of the lane, which some minions share in turns. */
export type Line = { connection: Connection; reopen(): Promise<void> };

const nobody = -1;
/** Replies to returns have at most 99 bytes; longer ones are kept one by one. */
const keptReplyBytes = 128;
const timeoutLookMs = 100;
/** Lines of a closed loop whose first request is sent in one turn of the event loop. */
const firstAtOnce = 16;

export type LaneOptions = {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly onProgress: () => void;
  /** Whether each request has a connection of its own, which is made within the span, as a minion's `_auth` has. */
  readonly connectsEach: boolean;
  /** By request: its job, if the jobs are published within the run. */
  readonly jobOf: Uint32Array | undefined;
};

export class Lane {
  readonly #work: Work;
  readonly #lines: readonly Line[];
  readonly #options: LaneOptions;
  /** By request: planned, first sent and answered times; NaN until then. */
  readonly #plannedMs: Float64Array;
  readonly #answeredMs: Float64Array;
  /** By request: the next one that waits for the same line. */
  readonly #after: Int32Array;
  /** By line: the request under way, the waiting ones, when it was last sent, and how often. */
  readonly #out: Int32Array;
  readonly #head: Int32Array;
  readonly #tail: Int32Array;
  readonly #sentMs: Float64Array;
  readonly #tries: Uint8Array;
  readonly #replyBytes: Uint32Array;
  readonly #replies: Buffer;
  readonly #longReplies = new Map<number, Buffer>();
  #counts = { sent: 0, completed: 0, failed: 0, timedOut: 0, late: 0, repeated: 0, sentBytes: 0, receivedBytes: 0 };
  #isOpen = false;
  #wanted = 0;
  #startedMs = 0;
  #resolve: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #pacer: Pacer | undefined;
  readonly #publishes: AwaitedPublishes | undefined;
  #first: NodeJS.Immediate | undefined;

  constructor(work: Work, lines: readonly Line[], options: LaneOptions) {
    this.#work = work;
    this.#lines = lines;
    this.#options = options;
    this.#plannedMs = new Float64Array(work.count).fill(Number.NaN);
    this.#answeredMs = new Float64Array(work.count).fill(Number.NaN);
    this.#after = new Int32Array(work.count).fill(nobody);
    this.#out = new Int32Array(lines.length).fill(nobody);
    this.#head = new Int32Array(lines.length).fill(nobody);
    this.#tail = new Int32Array(lines.length).fill(nobody);
    this.#sentMs = new Float64Array(lines.length);
    this.#tries = new Uint8Array(lines.length);
    this.#replyBytes = new Uint32Array(work.count);
    this.#replies = Buffer.alloc(work.count * keptReplyBytes);
    this.#publishes = options.jobOf && this.#awaitPublishes(options.jobOf);
    for (const index of lines.keys()) this.#listen(index);
  }

  /** Resolves when every request was answered or given up. `plannedMs`: planned times of the first requests; without it, a closed loop. */
  run(startedMs: number, plannedMs?: Float64Array): Promise<void> {
    this.#startedMs = startedMs;
    this.#isOpen = plannedMs !== undefined;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#timer = setInterval(() => this.#giveUpSilent(), timeoutLookMs);
      if (plannedMs === undefined) {
        this.#wanted = this.#work.count;
        for (let index = 0; index < this.#work.count; index += 1) this.#enqueue(index);
        this.#sendFirst(0);
        this.#endIfDone();
        return;
      }
      this.#wanted = Math.min(plannedMs.length, this.#work.count);
      this.#plannedMs.set(plannedMs.subarray(0, this.#wanted));
      this.#pacer = new Pacer(plannedMs.subarray(0, this.#wanted), startedMs, this.#onDue);
      this.#endIfDone();
    });
  }

  /** Sends in slices, because the first requests of a thousand lines in one turn would delay other lanes. */
  #sendFirst(from: number): void {
    const to = Math.min(from + firstAtOnce, this.#lines.length);
    for (let line = from; line < to; line += 1) this.#sendNext(line);
    if (to < this.#lines.length) this.#first = setImmediate(() => this.#sendFirst(to));
  }

  /** Ends the run early: open requests stay unanswered. */
  abandon(): void {
    this.#pacer?.stop();
    this.#publishes?.stop();
    clearImmediate(this.#first);
    clearInterval(this.#timer);
    this.#resolve();
  }

  #awaitPublishes(jobOf: Uint32Array): AwaitedPublishes {
    return new AwaitedPublishes({
      jobOf,
      dueAtMs: (index) => this.#startedMs + (this.#plannedMs[index] ?? 0),
      begin: (index, lateMs) => this.#beginLate(index, lateMs),
      drop: () => {
        this.#counts.failed += 1;
        this.#endIfDone();
      },
    });
  }

  /** See the message `published`. */
  published(job: number, lateMs: number | undefined): void {
    this.#publishes?.published(job, lateMs);
  }

  readonly #onDue = (index: number): void => {
    if (this.#publishes === undefined) this.#begin(index);
    else this.#publishes.due(index);
  };

  /** Its planned time counts from the publish. */
  #beginLate(index: number, lateMs: number): void {
    this.#plannedMs[index] = (this.#plannedMs[index] ?? 0) + lateMs;
    this.#begin(index);
  }

  #begin(index: number): void {
    const line = this.#lineOf(index);
    // Waiting for a busy minion counts as the master's time. A late start of the generator counts as its own.
    if (performance.now() - this.#startedMs - (this.#plannedMs[index] ?? 0) > lateMs) this.#counts.late += 1;
    this.#enqueue(index);
    if (this.#out[line] === nobody) this.#sendNext(line);
  }

  #lineOf(index: number): number {
    return this.#work.minion(index) % this.#lines.length;
  }

  #enqueue(index: number): void {
    const line = this.#lineOf(index);
    const last = this.#tail[line] ?? nobody;
    if (last === nobody) this.#head[line] = index;
    else this.#after[last] = index;
    this.#tail[line] = index;
  }

  #sendNext(line: number): void {
    const index = this.#head[line] ?? nobody;
    this.#out[line] = index;
    if (index === nobody) return;
    const next = this.#after[index] ?? nobody;
    this.#head[line] = next;
    if (next === nobody) this.#tail[line] = nobody;
    this.#tries[line] = 0;
    if (this.#options.connectsEach) this.#connectAndSend(line, index);
    else this.#send(line, index);
  }

  #connectAndSend(line: number, index: number): void {
    if (!this.#isOpen) this.#plannedMs[index] = performance.now() - this.#startedMs;
    this.#reopen(line, () => this.#send(line, index));
  }

  #send(line: number, index: number): void {
    const frame = this.#work.frame(index);
    const nowMs = performance.now() - this.#startedMs;
    if (this.#tries[line] === 0) {
      this.#counts.sent += 1;
      if (!this.#isOpen && !this.#options.connectsEach) this.#plannedMs[index] = nowMs;
    } else this.#counts.repeated += 1;
    this.#tries[line] = (this.#tries[line] ?? 0) + 1;
    this.#sentMs[line] = nowMs;
    this.#counts.sentBytes += frame.length;
    this.#lines[line]?.connection.send(frame);
  }

  #listen(line: number): void {
    const { connection } = this.#lines[line] ?? {};
    if (connection === undefined) return;
    connection.onMessage = (payload) => this.#take(line, payload);
    connection.onClose = () => {
      if (this.#out[line] !== nobody) this.#sendAgain(line);
    };
  }

  #take(line: number, payload: Buffer): void {
    const index = this.#out[line] ?? nobody;
    if (index === nobody) return;
    this.#answeredMs[index] = performance.now() - this.#startedMs;
    this.#counts.receivedBytes += payload.length;
    if (this.#work.isPlausible(payload)) {
      this.#counts.completed += 1;
      this.#replyBytes[index] = payload.length;
      if (payload.length <= keptReplyBytes) payload.copy(this.#replies, index * keptReplyBytes);
      else this.#longReplies.set(index, Buffer.from(payload));
    } else {
      this.#counts.failed += 1;
      this.#answeredMs[index] = Number.NaN;
    }
    this.#sendNext(line);
    this.#endIfDone();
  }

  #giveUpSilent(): void {
    const oldestMs = performance.now() - this.#startedMs - this.#options.timeoutMs;
    for (const line of this.#lines.keys()) {
      if (this.#out[line] !== nobody && (this.#sentMs[line] ?? 0) < oldestMs) this.#sendAgain(line);
    }
    this.#options.onProgress();
  }

  /** Tries again on a new connection, as a real minion does, so that a late reply is not taken for the reply to another request. */
  #sendAgain(line: number): void {
    const index = this.#out[line] ?? nobody;
    const isLastTry = (this.#tries[line] ?? 0) >= this.#options.tries;
    this.#reopen(line, () => {
      if (!isLastTry) return this.#send(line, index);
      this.#giveUp(line);
      this.#sendNext(line);
      this.#endIfDone();
    });
  }

  #giveUp(line: number): void {
    this.#counts.timedOut += 1;
    this.#out[line] = nobody;
  }

  #reopen(line: number, then: () => void): void {
    // Skips this line while it connects.
    this.#sentMs[line] = Number.POSITIVE_INFINITY;
    this.#lines[line]?.reopen().then(
      () => {
        this.#listen(line);
        then();
      },
      () => {
        // The master is gone, so the line's waiting requests are not sent either.
        for (this.#giveUp(line); (this.#head[line] ?? nobody) !== nobody; this.#giveUp(line)) {
          this.#head[line] = this.#after[this.#head[line] ?? 0] ?? nobody;
        }
        this.#tail[line] = nobody;
        this.#endIfDone();
      },
    );
  }

  /** A request was answered or given up. */
  get done(): number {
    return this.#counts.completed + this.#counts.failed + this.#counts.timedOut;
  }

  #endIfDone(): void {
    if (this.done < this.#wanted) return;
    clearInterval(this.#timer);
    this.#resolve();
  }

  /** Call it once, after the span. */
  outcome(verifyMax: number): LaneOutcome {
    const histogram = new LatencyHistogram();
    let lastReplyMs = 0;
    for (let index = 0; index < this.#work.count; index += 1) {
      const answeredMs = this.#answeredMs[index] ?? Number.NaN;
      if (Number.isNaN(answeredMs)) continue;
      histogram.recordMs(answeredMs - (this.#plannedMs[index] ?? 0));
      lastReplyMs = Math.max(lastReplyMs, answeredMs);
    }
    const { sealedAhead } = this.#work;
    const { verified, wrong, empty } = this.#verify(verifyMax);
    const planned = this.#wanted;
    return {
      planned,
      ...this.#counts,
      histogram: histogram.encode(),
      lastReplyMs,
      verified,
      wrong,
      empty,
      sealedAhead,
    };
  }

  #verify(max: number): { verified: number; wrong: number; empty: number } {
    const step = Math.max(1, Math.ceil(this.#counts.completed / Math.max(1, max)));
    let verified = 0;
    let wrong = 0;
    let empty = 0;
    let seen = 0;
    for (let index = 0; index < this.#work.count; index += 1) {
      const bytes = this.#replyBytes[index] ?? 0;
      if (bytes === 0) continue;
      seen += 1;
      if (seen % step !== 0) continue;
      const start = index * keptReplyBytes;
      const payload = this.#longReplies.get(index) ?? this.#replies.subarray(start, start + bytes);
      verified += 1;
      const verdict = this.#work.check(index, payload);
      if (verdict === "wrong") wrong += 1;
      else if (verdict === "empty") empty += 1;
    }
    return { verified, wrong, empty };
  }
}
