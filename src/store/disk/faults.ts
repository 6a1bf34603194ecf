/** Counts this thread's errors of the disk by kind. */
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";

/** `full`: ENOSPC or EDQUOT. `failed`: any other error of a store, such as EIO. `lost`: LMDB refuses a file until the process opens it anew. */
export const diskFaultKinds = ["full", "failed", "lost"] as const;
export type DiskFaultKind = (typeof diskFaultKinds)[number];

const counts: Record<DiskFaultKind, number> = { full: 0, failed: 0, lost: 0 };

/** Counts an error of the system or of LMDB. Ignores a SaltworksError, whose cause is already counted. */
export function noteDiskFault(cause: unknown): void {
  if (!(cause instanceof Error) || cause instanceof SaltworksError) return;
  counts[kindOf(cause)] += 1;
}

export function diskFaultCounts(): Readonly<Record<DiskFaultKind, number>> {
  return counts;
}

/** LMDB's errors have the system's text but no code, so the text is matched, too. */
function kindOf(cause: Error): DiskFaultKind {
  if (cause.message.includes(panicText)) return "lost";
  const isFull = hasCodeIn(cause, "ENOSPC", "EDQUOT") || /no space left on device|quota exceeded/i.test(cause.message);
  return isFull ? "full" : "failed";
}

/** LMDB's error for every call after a write of its meta pages failed, because it no longer knows their contents. */
const panicText = "MDB_PANIC";
