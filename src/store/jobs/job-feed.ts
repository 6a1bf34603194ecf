/**
 * The feed of a job cache: what was stored and is still to be copied into a database, oldest first. An entry is written in the transaction that
 * stores its job or return, and leaves only when the database has it. docs/decisions/0030-job-feed.md.
 */

/** What a job cache feeds: nothing; only jobs, because minions write their returns themselves (`ext_job_cache`); or jobs and returns. */
export type FeedKind = "none" | "jobs" | "all";

/** Where an entry is in its part of the feed. It stays there until it leaves. */
export type FeedPlace = { readonly page: number; readonly index: number };

/** `place`: in its part of the feed. "gone": removed from the store meanwhile. "damaged": not as it was stored. */
export type FeedEntry = FedJob | FedReturn | FedNothing;
type Fed<Kind> = { readonly place: FeedPlace; readonly jid: string; readonly kind: Kind };
/** `expected`: reads the expected minions, which most databases do not keep. */
export type FedJob = Fed<"job"> & { readonly load: Uint8Array; readonly expected: () => readonly string[] };
export type FedReturn = Fed<"return"> & { readonly minionId: string; readonly body: Uint8Array };
type FedNothing = Fed<"gone"> | Fed<"damaged">;

/** `oldestMs`: when the oldest entry was stored. `isMissing`: the feed was full, and jobs or returns of the store are still to be added to it. */
export type FeedState = {
  readonly waiting: number;
  readonly oldestMs: number | undefined;
  readonly isMissing: boolean;
};

export type FeedRead = { readonly after?: FeedPlace | undefined; readonly limit: number; readonly bytesMax: number };

/** Each method fails with SaltworksError STORE_FAILED. */
export interface JobFeed {
  /** The feed has several parts if the store has several files. Each is in order for itself. */
  readonly partCount: number;
  /** The oldest `limit` entries of a part; fewer, but at least one, once they reach `bytesMax`. `after`: of those behind this place. */
  read(part: number, o: FeedRead): readonly FeedEntry[];
  /** Removes entries, durably. `places` are in the feed's order. */
  remove(part: number, places: readonly FeedPlace[]): void;
  /** Adds jobs and returns that a full feed left out, at most `limit` of them. @returns whether there were any */
  refill(part: number, limit: number): boolean;
  state(): FeedState;
  close(): Promise<void>;
}
