/** The two errors of a store. STORE_FAILED: the disk or LMDB refused a step. STORE_DAMAGED: a file or record is not as it was written. */
import { SaltworksError } from "../../errors.ts";
import { noteDiskFault } from "./faults.ts";

/** Makes a STORE_FAILED, and counts the cause as a fault of the disk. */
export function storeFailed(message: string, cause: unknown): SaltworksError {
  noteDiskFault(cause);
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new SaltworksError("STORE_FAILED", `${message}${reason}`, {}, { cause });
}

/** @param what the file or record, and its fault */
export function storeDamaged(what: string, advice = ""): SaltworksError {
  return new SaltworksError("STORE_DAMAGED", advice === "" ? what : `${what}. ${advice}`);
}

/** Runs a step on a store's files. @throws SaltworksError STORE_FAILED with `failure` and the system's reason */
export function attempt<Result>(failure: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw error instanceof SaltworksError ? error : storeFailed(failure, error);
  }
}
