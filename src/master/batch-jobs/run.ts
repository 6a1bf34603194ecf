/**
 * Decides the next move of a batch job. Its state depends on log entries alone, so that a batch job resumes from its log where it was.
 * Pure: no clock, no network. docs/decisions/0020-batches-in-the-master.md.
 */
import {
  type BatchCounts,
  type BatchEntry,
  type BatchOutcome,
  failuresOf,
  parseShare,
} from "../../wire/batch-options.ts";

/** `wait`: nothing to do until the next entry or, if set, until `atMs`. */
export type BatchMove =
  | { readonly kind: "start"; readonly ids: readonly string[] }
  | { readonly kind: "wait"; readonly atMs: number | undefined }
  | { readonly kind: "over"; readonly outcome: BatchOutcome; readonly culprit: string };

export type BatchState = "pinging" | "running" | "paused" | "stopping" | BatchOutcome;
export type OpenStep = { readonly jid: string; readonly ids: readonly string[]; readonly isSent: boolean };

type Step = { readonly ids: Set<string>; isSent: boolean };
type Stop = { readonly outcome: BatchOutcome; readonly culprit: string };

export class BatchRun {
  /** Most steps under way at once. At this bound free slots gather until a step is over. */
  readonly #stepsMax: number;
  #plan: Extract<BatchEntry, { kind: "new" }> | undefined;
  /** Minions from index `#next` on have not had their turn. Removing the others from the front of 100,000 would move the rest each time. */
  #queue: string[] = [];
  #next = 0;
  readonly #known = new Set<string>();
  readonly #active = new Map<string, string>();
  readonly #steps = new Map<string, Step>();
  /** Times at which waiting slots become free, ascending. */
  #waits: number[] = [];
  /** Canaries that have not succeeded yet. */
  #canariesLeft = 0;
  #canariesToStart = 0;
  #window = 0;
  #failuresMax: number | undefined;
  #absentCount = 0;
  #returned = 0;
  #failed = 0;
  #silent = 0;
  #retcode = 0;
  #isPaused = false;
  #isPinged = false;
  #stop: Stop | undefined;
  #done: BatchOutcome | undefined;

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax;
  }

  get plan(): Extract<BatchEntry, { kind: "new" }> | undefined {
    return this.#plan;
  }

  get isPinged(): boolean {
    return this.#isPinged;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  get #waitMs(): number {
    return (this.#plan?.waitSeconds ?? 0) * 1_000;
  }

  get state(): BatchState {
    if (this.#done !== undefined) return this.#done;
    if (this.#stop !== undefined) return "stopping";
    if (this.#isPaused) return "paused";
    return this.#isPinged ? "running" : "pinging";
  }

  get counts(): BatchCounts {
    return {
      minions: this.#queue.length,
      absent: this.#absentCount,
      queued: this.#queue.length - this.#next,
      running: this.#active.size,
      returned: this.#returned,
      failed: this.#failed,
      silent: this.#silent,
      retcode: this.#retcode,
    };
  }

  /** Whether this step still waits for this minion. */
  isAwaited(jid: string, id: string): boolean {
    return this.#active.get(id) === jid;
  }

  /** Minions of this step that have neither returned nor been given up. */
  awaited(jid: string): string[] {
    return [...(this.#steps.get(jid)?.ids ?? [])];
  }

  isKnown(id: string): boolean {
    return this.#known.has(id);
  }

  openSteps(): OpenStep[] {
    return [...this.#steps].map(([jid, { ids, isSent }]) => ({ jid, ids: [...ids], isSent }));
  }

  /** Ids that have not had their turn. */
  queued(): string[] {
    return this.#queue.slice(this.#next);
  }

  apply(entry: BatchEntry): void {
    switch (entry.kind) {
      case "new":
        this.#plan = entry;
        break;
      case "queue":
        this.#begin(entry);
        break;
      case "late":
        this.#known.add(entry.id);
        this.#queue.push(entry.id);
        break;
      case "start":
        this.#noteStart(entry.jid, entry.ids);
        break;
      case "sent": {
        const step = this.#steps.get(entry.jid);
        if (step !== undefined) step.isSent = true;
        break;
      }
      case "return":
        if (this.#release(entry.jid, entry.id, entry.at)) this.#noteReturn(entry.id, entry.retcode);
        break;
      case "silent":
        for (const id of entry.ids) if (this.#release(entry.jid, id, entry.at)) this.#noteSilent(id);
        break;
      case "pause":
        this.#isPaused = true;
        break;
      case "resume":
        this.#isPaused = false;
        break;
      case "abort":
        this.#stop ??= { outcome: "aborted", culprit: entry.user };
        break;
      case "restart":
        break;
      case "done":
        this.#done = entry.outcome;
        break;
    }
  }

  /** Corrects waiting slots after the clock of `nowMs` and of the entries was set by `stepMs` milliseconds. */
  noteClockSet(stepMs: number): void {
    this.#waits = this.#waits.map((atMs) => atMs + stepMs);
  }

  /** The next move. Ask again after every entry. */
  next(nowMs: number): BatchMove {
    const idle = { kind: "wait", atMs: undefined } as const;
    if (this.#done !== undefined) return idle;
    const stop = this.#stop;
    // With failhard the batch job is over at once, as in Salt. Stopped for another reason, it waits for running minions.
    if (stop !== undefined && (stop.outcome === "failhard" || this.#active.size === 0))
      return { kind: "over", ...stop };
    if (stop !== undefined || !this.#isPinged) return idle;
    const left = this.#queue.length - this.#next;
    if (left === 0) return this.#active.size === 0 ? { kind: "over", outcome: "finished", culprit: "" } : idle;
    if (this.#isPaused || this.#steps.size >= this.#stepsMax) return idle;
    // If the clock was set back, slots do not wait longer than `#waitMs`.
    const latestMs = nowMs + this.#waitMs;
    this.#waits = this.#waits.filter((atMs) => atMs > nowMs).map((atMs) => Math.min(atMs, latestMs));
    const room = Math.min(this.#window - this.#active.size - this.#waits.length, left, this.#stageRoom());
    if (room > 0) return { kind: "start", ids: this.#queue.slice(this.#next, this.#next + room) };
    return { kind: "wait", atMs: this.#waits[0] };
  }

  #begin({ ids, absent, window }: Extract<BatchEntry, { kind: "queue" }>): void {
    this.#isPinged = true;
    this.#queue = [...ids];
    for (const id of ids) this.#known.add(id);
    this.#absentCount = absent.length;
    this.#window = window;
    this.#canariesToStart = Math.min(this.#plan?.canary ?? 0, ids.length);
    this.#canariesLeft = this.#canariesToStart;
    const share = parseShare(this.#plan?.failuresMax ?? "");
    this.#failuresMax = share === undefined ? undefined : failuresOf(share, ids.length);
  }

  /** Number of minions that the present stage may still start. Until all canaries have succeeded, only canaries may start. */
  #stageRoom(): number {
    return this.#canariesLeft > 0 ? this.#canariesToStart : Number.POSITIVE_INFINITY;
  }

  #noteStart(jid: string, ids: readonly string[]): void {
    this.#steps.set(jid, { ids: new Set(ids), isSent: false });
    for (const id of ids) this.#active.set(id, jid);
    this.#next += ids.length;
    this.#canariesToStart = Math.max(0, this.#canariesToStart - ids.length);
  }

  /** @returns false if the step does not wait for the minion */
  #release(jid: string, id: string, atMs: number): boolean {
    if (!this.isAwaited(jid, id)) return false;
    this.#active.delete(id);
    const step = this.#steps.get(jid);
    step?.ids.delete(id);
    if (step?.ids.size === 0) this.#steps.delete(jid);
    if (this.#waitMs > 0) this.#waits.push(atMs + this.#waitMs);
    return true;
  }

  #noteReturn(id: string, retcode: number): void {
    this.#returned += 1;
    this.#retcode = Math.max(this.#retcode, retcode);
    this.#noteOutcome(id, retcode > 0);
  }

  #noteSilent(id: string): void {
    this.#silent += 1;
    this.#noteOutcome(id, true);
  }

  #noteOutcome(id: string, isFailure: boolean): void {
    const isCanary = this.#canariesLeft > 0;
    if (!isFailure) {
      if (isCanary) this.#canariesLeft -= 1;
      return;
    }
    this.#failed += 1;
    if (this.#plan?.isFailHard === true) this.#stop ??= { outcome: "failhard", culprit: id };
    else if (isCanary) this.#stop ??= { outcome: "canary", culprit: id };
    else if (this.#failuresMax !== undefined && this.#failed >= this.#failuresMax)
      this.#stop ??= { outcome: "failures", culprit: id };
  }
}

/** Minions in the order of `-L`, or by name, so that operators know which are the canaries. */
export function inOrder(ids: readonly string[], target: string | readonly string[]): string[] {
  const sorted = [...new Set(ids)].sort();
  if (typeof target === "string") return sorted;
  const places = new Map(target.map((id, index) => [id, index]));
  return sorted.sort((a, b) => (places.get(a) ?? target.length) - (places.get(b) ?? target.length));
}
