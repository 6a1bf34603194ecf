/** Remembers which returns a writer has seen, to detect duplicates without a look into the store each. Bounded; forgotten ones are in the store. */
import { knownReturnsMax } from "../../limits.ts";
import { isJid } from "../../wire/jid.ts";

/** `isWhole`: the store had no return of this job when the writer first met the job, so `ids` has all of the job's returns. */
type KnownJob = { readonly ids: Set<string>; readonly isWhole: boolean };

/** The store's answers about returns that are not remembered here. */
export type StoredReturns = {
  readonly hasAny: (jid: string) => boolean;
  readonly has: (jid: string, minionId: string) => boolean;
};

export class KnownReturns {
  readonly #stored: StoredReturns;
  /** By job id, oldest first. */
  readonly #jobs = new Map<string, KnownJob>();
  /** Jobs whose ids are not times. An operator may reuse such an id, even after its returns were trimmed. */
  readonly #others = new Set<string>();
  #count = 0;

  constructor(stored: StoredReturns) {
    this.#stored = stored;
  }

  /** @returns false for a duplicate @throws errors of the store; the return is then not remembered */
  add(jid: string, minionId: string): boolean {
    let job = this.#jobs.get(jid);
    if (job === undefined) {
      job = { ids: new Set(), isWhole: !this.#stored.hasAny(jid) };
      this.#jobs.set(jid, job);
      if (!isJid(jid)) this.#others.add(jid);
      this.#count += 1;
    }
    const { size } = job.ids;
    job.ids.add(minionId);
    if (job.ids.size === size) return false;
    this.#count += 1;
    try {
      return job.isWhole || !this.#stored.has(jid, minionId);
    } catch (error) {
      // If it stayed, the minion's next try would count as a duplicate and be acknowledged without being stored.
      this.remove(jid, minionId);
      throw error;
    }
  }

  /** Forgets a return that could not be stored. */
  remove(jid: string, minionId: string): void {
    if (this.#jobs.get(jid)?.ids.delete(minionId) === true) this.#count -= 1;
  }

  /**
   * Forgets all jobs whose ids are not times, and the oldest jobs while more than `knownReturnsMax` ids are remembered. Later `add` asks the store
   * about them. The store must have every return that was added.
   */
  shrink(): void {
    for (const jid of this.#others) this.#forget(jid);
    this.#others.clear();
    for (const jid of this.#jobs.keys()) {
      if (this.#count <= knownReturnsMax) return;
      this.#forget(jid);
    }
  }

  #forget(jid: string): void {
    this.#count -= (this.#jobs.get(jid)?.ids.size ?? -1) + 1;
    this.#jobs.delete(jid);
  }
}
