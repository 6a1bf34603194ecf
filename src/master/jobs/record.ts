/**
 * The state of one job, minion by minion: its state, since when, and its answer to find_job. Held in typed arrays by the minion's index: for 100,000
 * minions they take a megabyte. They are made when first needed, so that the publish does not wait for them.
 */
import type { TextList } from "../../wire/text-list.ts";
import type { Encodable } from "../../wire/values.ts";
import { JobMinions, type MinionNumbers } from "./minion-numbers.ts";

/**
 * `targeted`: expected, but the job is not sent yet. `running`: by the minion's answer to find_job. `failed`: returned with a retcode other than 0.
 * `lost`: given up.
 */
export const minionStates = ["targeted", "sent", "running", "returned", "failed", "lost"] as const;
export type MinionState = (typeof minionStates)[number];

/** `waiting` stands for `targeted` and `sent`, because all minions of a job change from one to the other together. */
const codes = { waiting: 0, running: 1, returned: 2, failed: 3, lost: 4 } as const;
const notes = { asked: 1, idle: 2, fault: 4, late: 8, gone: 16, delivered: 32 } as const;
type Note = keyof typeof notes;

/** One minion of a job. `atMs`: the wall clock when it entered this state. */
export type MinionRecord = {
  readonly id: string;
  readonly state: MinionState;
  readonly atMs: number;
  /** It was asked by find_job. */
  readonly isAsked: boolean;
  /** It answered that it does not run the job. */
  readonly isIdle: boolean;
  /** It could not answer find_job. */
  readonly isFault: boolean;
  /** It returned after the job had been given up. */
  readonly isLate: boolean;
  /** The minion counted as not connected when the job was given up. */
  readonly wasGone: boolean;
  /** The job was sent to it alone once more. */
  readonly isDelivered: boolean;
};

/** Why a minion is silent, in Salt's words. */
export type SilentReason = "No response" | "Not connected";

export type JobHead = {
  readonly jid: string;
  readonly minions: TextList;
  readonly fun?: string;
  /** The user that asked for it. */
  readonly user?: string;
  /** Names in the target that have no accepted key. */
  readonly missing?: readonly string[];
};

export class JobRecord {
  readonly jid: string;
  readonly fun: string;
  readonly user: string | undefined;
  readonly missing: readonly string[];
  readonly startedMs: number;
  sentMs: number | undefined;
  /** When the record was made, by a monotonic clock. */
  trackedMs = 0;
  /** When the last minion had returned or was given up. */
  overMs: number | undefined;
  readonly #numbers: MinionNumbers;
  readonly #expectedCount: number;
  #expected: TextList | undefined;
  #minions: JobMinions | undefined;
  #codes = new Uint8Array(0);
  #notes = new Uint8Array(0);
  /** Milliseconds after `startedMs`. */
  #changedMs = new Uint32Array(0);
  #returned = 0;
  /** Whether any minion could not answer find_job. */
  hasFaults = false;

  constructor(head: JobHead, numbers: MinionNumbers, nowMs: number) {
    this.jid = head.jid;
    this.fun = head.fun ?? "";
    this.user = head.user;
    this.missing = head.missing ?? [];
    this.startedMs = nowMs;
    this.#numbers = numbers;
    this.#expected = head.minions;
    this.#expectedCount = head.minions.count;
  }

  get minionCount(): number {
    return this.#minions?.count ?? this.#expectedCount;
  }

  get returnedCount(): number {
    return this.#returned;
  }

  get isComplete(): boolean {
    return this.#returned >= this.minionCount;
  }

  /** Notes a return. An unexpected minion joins the job's minions. @returns false if it had returned before */
  noteReturn(id: string, isFailed: boolean, nowMs: number): boolean {
    const index = this.#indexOf(id, true);
    if (this.#hasReturned(index)) return false;
    this.#returned += 1;
    if (this.overMs !== undefined) this.#mark(index, "late");
    this.#set(index, isFailed ? codes.failed : codes.returned, nowMs);
    return true;
  }

  /** Adds minions of a lower master, up to `countMax` of the job in all. @returns the ids that were not expected before */
  expectMore(ids: readonly string[], countMax: number): string[] {
    const minions = this.#list();
    return ids.filter((id) => {
      if (minions.count >= countMax || minions.indexOf(id) >= 0) return false;
      this.#indexOf(id, true);
      return true;
    });
  }

  has(id: string): boolean {
    return this.#indexOf(id, false) >= 0;
  }

  noteAsked(ids: readonly string[]): void {
    for (const id of ids) this.#mark(this.#indexOf(id, false), "asked");
  }

  noteRunning(id: string, nowMs: number): void {
    const index = this.#indexOf(id, true);
    if (!this.#hasReturned(index)) this.#set(index, codes.running, nowMs);
  }

  noteIdle(id: string): void {
    this.#mark(this.#indexOf(id, false), "idle");
  }

  noteFault(id: string): void {
    this.hasFaults = true;
    this.#mark(this.#indexOf(id, false), "fault");
  }

  /** Notes that the job was sent to these minions alone: it waits for them again. */
  noteDelivered(ids: readonly string[], nowMs: number): void {
    for (const id of ids) {
      const index = this.#indexOf(id, false);
      if (index < 0 || this.#hasReturned(index)) continue;
      this.#mark(index, "delivered");
      this.#set(index, codes.waiting, nowMs);
    }
  }

  /** Notes that the job is given up: minions that have not returned and do not run it are lost. */
  noteOver(nowMs: number, isGone: (id: string) => boolean): void {
    this.overMs = nowMs;
    if (this.isComplete) return;
    const minions = this.#list();
    for (let index = 0; index < minions.count; index += 1) {
      if (this.#hasReturned(index)) continue;
      if (isGone(minions.idAt(index))) this.#mark(index, "gone");
      if (this.#codes[index] === codes.waiting) this.#set(index, codes.lost, nowMs);
    }
  }

  /** Minions that have not returned, except minions that could not answer find_job: the job does not wait for them. */
  outstanding(): string[] {
    return this.#ids((index) => !this.#hasReturned(index) && ((this.#notes[index] ?? 0) & notes.fault) === 0);
  }

  /** Missing minions of a job that is over, with Salt's reason. */
  silent(): Map<string, SilentReason> {
    if (this.isComplete) return new Map();
    const reasonOf = (id: string) => (this.of(id)?.wasGone ? "Not connected" : "No response");
    return new Map(this.outstanding().map((id) => [id, reasonOf(id)]));
  }

  returnedIds(): string[] {
    return this.#ids((index) => this.#hasReturned(index));
  }

  of(id: string): MinionRecord | undefined {
    const index = this.#indexOf(id, false);
    return index < 0 ? undefined : this.#record(index);
  }

  *records(): Generator<MinionRecord> {
    const { count } = this.#list();
    for (let index = 0; index < count; index += 1) yield this.#record(index);
  }

  counts(): Record<MinionState, number> {
    const counts = { targeted: 0, sent: 0, running: 0, returned: 0, failed: 0, lost: 0 };
    if (this.#minions === undefined) counts[this.#waitingState()] = this.minionCount;
    else for (let index = 0; index < this.minionCount; index += 1) counts[this.#stateAt(index)] += 1;
    return counts;
  }

  /** Call it once, when the job is forgotten. */
  release(): void {
    this.#minions?.release();
  }

  #record(index: number): MinionRecord {
    const noted = this.#notes[index] ?? 0;
    const isWaiting = this.#codes[index] === codes.waiting;
    const isDelivered = (noted & notes.delivered) > 0;
    const changedMs = this.startedMs + (this.#changedMs[index] ?? 0);
    return {
      id: this.#list().idAt(index),
      state: this.#stateAt(index),
      atMs: isWaiting && !isDelivered ? (this.sentMs ?? this.startedMs) : changedMs,
      isAsked: (noted & notes.asked) > 0,
      isIdle: (noted & notes.idle) > 0,
      isFault: (noted & notes.fault) > 0,
      isLate: (noted & notes.late) > 0,
      wasGone: (noted & notes.gone) > 0,
      isDelivered,
    };
  }

  #stateAt(index: number): MinionState {
    switch (this.#codes[index]) {
      case codes.running:
        return "running";
      case codes.returned:
        return "returned";
      case codes.failed:
        return "failed";
      case codes.lost:
        return "lost";
      default:
        return this.#waitingState();
    }
  }

  #waitingState(): MinionState {
    return this.sentMs === undefined ? "targeted" : "sent";
  }

  #list(): JobMinions {
    if (this.#minions !== undefined) return this.#minions;
    const minions = new JobMinions(this.#numbers, this.#expected?.texts() ?? []);
    this.#minions = minions;
    this.#expected = undefined;
    this.#codes = new Uint8Array(minions.count);
    this.#notes = new Uint8Array(minions.count);
    this.#changedMs = new Uint32Array(minions.count);
    return minions;
  }

  #indexOf(id: string, isAdding: boolean): number {
    const minions = this.#list();
    const index = minions.indexOf(id);
    if (index >= 0 || !isAdding) return index;
    const added = minions.add(id);
    if (added >= this.#codes.length) this.#grow(Math.max(added + 1, this.#codes.length * 2));
    return added;
  }

  #grow(length: number): void {
    const [states, noted, changedMs] = [new Uint8Array(length), new Uint8Array(length), new Uint32Array(length)];
    states.set(this.#codes);
    noted.set(this.#notes);
    changedMs.set(this.#changedMs);
    this.#codes = states;
    this.#notes = noted;
    this.#changedMs = changedMs;
  }

  #hasReturned(index: number): boolean {
    const code = this.#codes[index];
    return code === codes.returned || code === codes.failed;
  }

  #set(index: number, code: number, nowMs: number): void {
    this.#codes[index] = code;
    this.#changedMs[index] = Math.max(0, nowMs - this.startedMs);
  }

  #mark(index: number, note: Note): void {
    if (index >= 0) this.#notes[index] = (this.#notes[index] ?? 0) | notes[note];
  }

  #ids(isWanted: (index: number) => boolean): string[] {
    const minions = this.#list();
    const ids: string[] = [];
    for (let index = 0; index < minions.count; index += 1) if (isWanted(index)) ids.push(minions.idAt(index));
    return ids;
  }
}

/** The function's name. The names of a job of several functions are joined by commas. */
export function funText(fun: Encodable): string {
  return Array.isArray(fun) ? fun.join(",") : String(fun);
}
