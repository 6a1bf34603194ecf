/** Counts what the disk refused to this thread: for want of room, and for another reason, such as EIO. Each failed step once. */
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";

/** `full`: no room or quota left. `failed`: any other error of a store. `lost`: LMDB refuses a file until the process opens it anew. */
export const diskFaultKinds = ["full", "failed", "lost"] as const;
export type DiskFaultKind = (typeof diskFaultKinds)[number];

const counts: Record<DiskFaultKind, number> = { full: 0, failed: 0, lost: 0 };

/** Passes over what is counted already: an error of ours was made from the system's. */
export function noteDiskFault(cause: unknown): void {
  if (!(cause instanceof Error) || cause instanceof SaltworksError) return;
  counts[kindOf(cause)] += 1;
}

export function diskFaultCounts(): Readonly<Record<DiskFaultKind, number>> {
  return counts;
}

/** LMDB's own errors carry the system's text. */
function kindOf(cause: Error): DiskFaultKind {
  if (cause.message.includes(panicText)) return "lost";
  const isFull = hasCodeIn(cause, "ENOSPC", "EDQUOT") || /no space left on device|quota exceeded/i.test(cause.message);
  return isFull ? "full" : "failed";
}

/** What LMDB answers to everything, after its head could not be written: what stands there is unknown. */
const panicText = "MDB_PANIC";
