/** One job that waits for absent minions: which of them lack it, and how often it was sent to each. */
import { SaltworksError } from "../../errors.ts";
import { deliveryTriesMax } from "../../limits.ts";
import { clusterField, type PendingJobRecord, type StoredPendingJob } from "../../store/jobs/pending-jobs.ts";
import type { DeliverySharing } from "./delivery-effects.ts";
import { JobMinions, type MinionNumbers } from "./minion-numbers.ts";

/** A minion's mark, one byte. Low four bits: how often the job was sent to it alone. Higher bits: why it no longer needs the job. */
const triesMask = 0x0f;
const settledBits = { returned: 0x10, withdrawn: 0x20, spent: 0x40 } as const;
const settledMask = 0x70;

/** Marks without the returns, which each member of a cluster knows by itself. */
export function marksToShare(marks: Uint8Array): Uint8Array {
  return marks.map((mark) => mark & ~settledBits.returned);
}

/** For damaged marks: withdrawn minions stay withdrawn. All others count as waiting, until their returns are found. */
function unlessWithdrawn(mark: number): number {
  return (mark & settledMask) === settledBits.withdrawn ? mark : 0;
}

export type Settlement = keyof typeof settledBits;

export class PendingJob {
  readonly record: PendingJobRecord;
  readonly #minions: JobMinions;
  /** In the order of `record.minions`, as they are stored. */
  readonly marks: Uint8Array;
  /** Index in `record.minions` of each minion of `#minions`. */
  readonly #places: Uint32Array;
  readonly #busy = new Set<string>();
  /** The deadline by a monotonic clock, so that setting the wall clock does not move it. */
  endsMs = Number.POSITIVE_INFINITY;
  /** Since when this process keeps it, by a steady clock. */
  keptMs = 0;
  /** Whether this master sends it. In a cluster only the job's owner does. */
  isActive: boolean;
  /** Marks have changed since they were written. */
  isChanged = false;
  /** Set while the job is being removed. Resolves when the store does not hold it any more. */
  ending: Promise<void> | undefined;
  #left: number;

  constructor({ record, marks, areMarksDamaged = false }: StoredPendingJob, numbers: MinionNumbers) {
    this.record = record;
    this.isActive = !record.fields.has(clusterField);
    this.marks = areMarksDamaged ? marks.map(unlessWithdrawn) : marks;
    this.isChanged = areMarksDamaged;
    this.#minions = new JobMinions(numbers, record.minions);
    this.#places = new Uint32Array(this.#minions.count);
    this.#left = 0;
    for (const [place, id] of record.minions.entries()) {
      this.#places[this.#minions.indexOf(id)] = place;
      if (((marks[place] ?? 0) & settledMask) === 0) this.#left += 1;
    }
  }

  get jid(): string {
    return this.record.jid;
  }

  get minionCount(): number {
    return this.record.minions.length;
  }

  /** Number of minions that lack it. */
  get leftCount(): number {
    return this.#left;
  }

  /** Whether it may end before its deadline. In a cluster the owner ends it: what another member knows of it may not be in the cluster yet. */
  isDone(sharing: DeliverySharing | undefined): boolean {
    return this.#left === 0 && (this.isActive || sharing === undefined);
  }

  lacks(id: string): boolean {
    const place = this.#placeOf(id);
    return place >= 0 && ((this.marks[place] ?? 0) & settledMask) === 0;
  }

  left(): string[] {
    return this.record.minions.filter((_, place) => ((this.marks[place] ?? 0) & settledMask) === 0);
  }

  tries(id: string): number {
    const place = this.#placeOf(id);
    return place < 0 ? 0 : (this.marks[place] ?? 0) & triesMask;
  }

  /** @returns false if the minion is settled already or not among the job's minions */
  settle(id: string, why: Settlement): boolean {
    const place = this.#placeOf(id);
    if (place < 0 || ((this.marks[place] ?? 0) & settledMask) !== 0) return false;
    this.marks[place] = (this.marks[place] ?? 0) | settledBits[why];
    this.#left -= 1;
    this.isChanged = true;
    return true;
  }

  /** Counts a delivery before it is made. @returns false if the minion has had `deliveryTriesMax`, which settles it */
  countTry(id: string): boolean {
    const place = this.#placeOf(id);
    const tries = this.tries(id);
    if (place < 0) return false;
    if (tries >= deliveryTriesMax) {
      this.settle(id, "spent");
      return false;
    }
    this.marks[place] = ((this.marks[place] ?? 0) & ~triesMask) | (tries + 1);
    this.isChanged = true;
    return true;
  }

  /** Undoes the count of deliveries that could not be made. */
  takeBackTries(ids: readonly string[]): void {
    for (const id of ids) {
      const place = this.#placeOf(id);
      const tries = this.tries(id);
      if (tries === 0) continue;
      this.marks[place] = ((this.marks[place] ?? 0) & ~triesMask) | (tries - 1);
      this.isChanged = true;
    }
  }

  /** Takes the marks of the member that owned the job: what is settled stays so, and the higher number of tries counts. */
  merge(marks: Uint8Array): void {
    for (let place = 0; place < Math.min(marks.length, this.marks.length); place += 1) {
      const [mine, theirs] = [this.marks[place] ?? 0, marks[place] ?? 0];
      const settled = mine & settledMask || theirs & settledMask;
      const merged = Math.max(mine & triesMask, theirs & triesMask) | settled;
      if (merged === mine) continue;
      if ((mine & settledMask) === 0 && settled !== 0) this.#left -= 1;
      this.marks[place] = merged;
      this.isChanged = true;
    }
  }

  isBusy(id: string): boolean {
    return this.#busy.has(id);
  }

  /** Notes minions that are being asked or sent to. */
  occupy(ids: readonly string[]): void {
    for (const id of ids) this.#busy.add(id);
  }

  vacate(ids: readonly string[]): void {
    for (const id of ids) this.#busy.delete(id);
  }

  release(): void {
    this.#minions.release();
  }

  #placeOf(id: string): number {
    const index = this.#minions.indexOf(id);
    return index < 0 ? -1 : (this.#places[index] ?? -1);
  }
}

export function marksDamaged(jid: string): SaltworksError {
  return new SaltworksError(
    "STORE_DAMAGED",
    `the stored deliveries of the pending job ${jid} are damaged: minions without a return get the job again, unless it was withdrawn`,
  );
}
