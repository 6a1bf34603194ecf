/** Records and messages of another release: how a reader refuses one, and how the log says so without a line for each of them. */
import type { Logger } from "pino";
import { type ErrorDetail, SaltworksError } from "../errors.ts";
import { otherVersionLogMs } from "../limits.ts";

/** @param what the record, as the subject of a sentence */
export function otherVersion(what: string, version: number, known: number, detail: ErrorDetail = {}): SaltworksError {
  const older = version > known ? "this member" : "the member that wrote it";
  const text = `${what} has version ${version}, and this member reads version ${known}: upgrade ${older}`;
  return new SaltworksError("CLUSTER_REFUSED", text, { ...detail, version, known });
}

export function isOtherVersion(error: unknown): error is SaltworksError {
  return (
    error instanceof SaltworksError && error.code === "CLUSTER_REFUSED" && typeof error.detail.version === "number"
  );
}

/** Logs refused records, each kind once in `otherVersionLogMs`. */
export class OtherVersions {
  readonly #logger: Pick<Logger, "warn">;
  /** When the log told of each kind, by the steady clock. */
  readonly #toldMs = new Map<string, number>();

  constructor(logger: Pick<Logger, "warn">) {
    this.#logger = logger;
  }

  /** @returns false for another fault, which is not logged here */
  note(kind: string, error: unknown): boolean {
    if (!isOtherVersion(error)) return false;
    const nowMs = performance.now();
    if (nowMs - (this.#toldMs.get(kind) ?? Number.NEGATIVE_INFINITY) < otherVersionLogMs) return true;
    this.#toldMs.set(kind, nowMs);
    this.#logger.warn({ kind, ...error.detail }, error.message);
    return true;
  }
}
