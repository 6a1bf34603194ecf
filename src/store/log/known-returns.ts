/** Which returns a writer has seen: tells duplicates without asking the store about each. Bounded; what it forgets the store knows. */
import { knownReturnsMax } from "../../limits.ts";
import { isJid } from "../../wire/jid.ts";

/** `isWhole`: the store had no return of this job when it was first met, so `ids` are all that it has. */
type KnownJob = { readonly ids: Set<string>; readonly isWhole: boolean };

/** What is asked of the store about returns not seen here. */
export type StoredReturns = {
  readonly hasAny: (jid: string) => boolean;
  readonly has: (jid: string, minionId: string) => boolean;
};

export class KnownReturns {
  readonly #stored: StoredReturns;
  /** Oldest first. */
  readonly #jobs = new Map<string, KnownJob>();
  /** Jobs whose ids are not times. An operator may use such an id again, perhaps after its returns were trimmed. */
  readonly #others = new Set<string>();
  #count = 0;

  constructor(stored: StoredReturns) {
    this.#stored = stored;
  }

  /** @returns false if there is one already @throws what the store throws; the return is then as unknown as before */
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
      // Kept, it would be a duplicate when the minion sends it again, and would be acknowledged without being stored.
      this.remove(jid, minionId);
      throw error;
    }
  }

  /** One that could not be stored after all. */
  remove(jid: string, minionId: string): void {
    if (this.#jobs.get(jid)?.ids.delete(minionId) === true) this.#count -= 1;
  }

  /**
   * Forgets the oldest jobs while there are more than `knownReturnsMax` ids, and all jobs whose ids are not times: the store is asked about them.
   * The store must have everything that was added.
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
