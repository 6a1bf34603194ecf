/** One job that waits for minions which are away: who still lacks it, and how often it was sent to each. */
import { SaltworksError } from "../../errors.ts";
import { deliveryTriesMax } from "../../limits.ts";
import type { PendingJobRecord, StoredPendingJob } from "../../store/jobs/pending-jobs.ts";
import { JobMinions, type MinionNumbers } from "./minion-numbers.ts";

/** A minion's byte: how often the job was sent to it alone, and why it needs it no longer. */
const triesMask = 0x0f;
const settledBits = { returned: 0x10, withdrawn: 0x20, spent: 0x40 } as const;
const settledMask = 0x70;

/** Of marks that are damaged: a job that an operator withdrew is not sent for it; all others count as waiting, and returns tell who does not. */
function unlessWithdrawn(mark: number): number {
  return (mark & settledMask) === settledBits.withdrawn ? mark : 0;
}

export type Settlement = keyof typeof settledBits;

export class PendingJob {
  readonly record: PendingJobRecord;
  readonly #minions: JobMinions;
  /** In the order of `record.minions`, as they are stored. */
  readonly marks: Uint8Array;
  /** Where a minion of `#minions` stands in `record.minions`. */
  readonly #places: Uint32Array;
  readonly #busy = new Set<string>();
  /** Its deadline by a clock that is never set: a job lives as long as it was meant to, however the wall clock is set. */
  endsMs = Number.POSITIVE_INFINITY;
  /** Marks have changed since they were written. */
  isChanged = false;
  /** Resolves when it is no more in the store, while it is being removed. */
  ending: Promise<void> | undefined;
  #left: number;

  constructor({ record, marks, areMarksDamaged = false }: StoredPendingJob, numbers: MinionNumbers) {
    this.record = record;
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

  /** How many still lack it. */
  get leftCount(): number {
    return this.#left;
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

  /** @returns whether that is new */
  settle(id: string, why: Settlement): boolean {
    const place = this.#placeOf(id);
    if (place < 0 || ((this.marks[place] ?? 0) & settledMask) !== 0) return false;
    this.marks[place] = (this.marks[place] ?? 0) | settledBits[why];
    this.#left -= 1;
    this.isChanged = true;
    return true;
  }

  /** Counts a delivery that is about to be made. @returns false if there have been enough, which settles it */
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

  /** These deliveries could not be made. */
  takeBackTries(ids: readonly string[]): void {
    for (const id of ids) {
      const place = this.#placeOf(id);
      const tries = this.tries(id);
      if (tries === 0) continue;
      this.marks[place] = ((this.marks[place] ?? 0) & ~triesMask) | (tries - 1);
      this.isChanged = true;
    }
  }

  isBusy(id: string): boolean {
    return this.#busy.has(id);
  }

  /** These are being asked or sent to. */
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
    `what became of the pending job ${jid}, by minion, is not what was stored: minions without a return get it again, unless it was withdrawn`,
  );
}
