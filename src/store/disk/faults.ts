/** Counts the steps that the disk refused to this thread, by reason: no room, or another one, such as EIO. */
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";

/** `full`: no room or quota left. `failed`: any other error of a store. `lost`: LMDB refuses a file until the process opens it anew. */
export const diskFaultKinds = ["full", "failed", "lost"] as const;
export type DiskFaultKind = (typeof diskFaultKinds)[number];

const counts: Record<DiskFaultKind, number> = { full: 0, failed: 0, lost: 0 };

/** Ignores errors of ours: they were made from the system's, which are counted already. */
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

/** LMDB's answer to every call after a write of its head failed, because it does not know what stands there. */
const panicText = "MDB_PANIC";
