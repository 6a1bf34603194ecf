/** Bounds of several masters as one. */

// # Cluster

/** Key entries on their way to the bucket at once. More wait for their turn; 64 keep a bucket of three replicas busy. */
export const keyPutsUnderWayMax = 64;
/** Key entries that are written as one batch, which costs one sync: from `idsMin` on, because a batch takes two round trips, up to `idsMax` (NATS: 1,000). */
export const keyBatch = { idsMin: 32, idsMax: 500 } as const;
/** One write of a key entry, milliseconds: longer than most elections. After it the write counts as failed, and is tried again. */
export const keyPutTimeoutMs = 5_000;
/** Wait before failed key entries are tried again, milliseconds. Each is twice the one before, with jitter. */
export const keyPutRetryMs = { first: 250, longest: 5_000 } as const;
/** One key entry, bytes: four keys of `publicKeyBytesMax`, the minion's id and a member's name. A larger one is ignored, with a warning. */
export const keyEntryBytesMax = 65_536;
/** How long the bucket keeps the mark of a deleted key, milliseconds: a member that was away longer sees that the entry is missing. */
export const keyMarkKeptMs = 30 * 86_400_000;
/** Wait for the bucket's stream, its watch, or its next entries at the start, milliseconds. */
export const keyBucketAnswerMs = 30_000;
/** Ids that are compared in one turn of the event loop. Each reads up to four files, some 50 µs. */
export const keysPerTurnMax = 50;
/** Quiet time after which a touched key file is read, and the longest wait from the first event on, milliseconds: one command moves a file in two steps. */
export const keyTouchSettleMs = { quiet: 20, longest: 100 } as const;
/** Quiet time after which removed keys are reported, and the longest wait, milliseconds: each report may rotate the AES key. */
export const keyRemovalSettleMs = { quiet: 50, longest: 500 } as const;
/** How soon a change is in the record of keys, milliseconds. A crash before it makes the next start compare more. */
export const keyRecordSaveMs = 1_000;
/** Keys of which none is left in the directories, from which number on they count as lost and not as deleted. */
export const keysLostMin = 3;
