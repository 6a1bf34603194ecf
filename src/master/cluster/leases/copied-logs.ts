/** Writes the parts of the cluster's batch logs to this member's disk. What the disk refuses waits in memory, and is written later. */
import { SaltworksError } from "../../../errors.ts";
import { refusedPartsBytesMax, refusedPartsRetryMs } from "../../../limits.ts";
import {
  copyBatchPart,
  hasBatch,
  isFaultOfDisk,
  listBatches,
  readBatchEntries,
  readBatchSummary,
  removeBatch,
} from "../../../store/jobs/batch-log.ts";

/** `isKnown`: the file may have this part and later ones already. */
export type CopiedPart = { readonly offset: number; readonly bytes: Uint8Array; readonly isKnown: boolean };

export class CopiedLogs {
  readonly #directory: string;
  readonly #onRefused: (jid: string, error: unknown) => void;
  /** Parts that the disk refused, in their order, by job id. */
  readonly #refused = new Map<string, CopiedPart[]>();
  #refusedBytes = 0;
  #retryMs = 0;

  constructor(directory: string, onRefused: (jid: string, error: unknown) => void) {
    this.#directory = directory;
    this.#onRefused = onRefused;
  }

  /** @throws SaltworksError STORE_FAILED if the part can never be written, or if too much waits already */
  write(jid: string, part: CopiedPart): void {
    const earlier = this.#refused.get(jid);
    const fault = earlier === undefined ? this.#faultOf(jid, part) : undefined;
    if (fault !== undefined) this.#onRefused(jid, fault);
    if (earlier !== undefined || fault !== undefined) this.#hold(jid, earlier ?? [], part);
  }

  /** Whether the disk has all parts that came. */
  isWhole(jid: string): boolean {
    return !this.#refused.has(jid);
  }

  /** Writes what waits, once in `refusedPartsRetryMs`. */
  retry(onLost: (jid: string, error: unknown) => void): void {
    const nowMs = performance.now();
    if (this.#refused.size === 0 || nowMs < this.#retryMs) return;
    this.#retryMs = nowMs + refusedPartsRetryMs;
    for (const [jid, parts] of this.#refused) {
      try {
        for (let part = parts[0]; part !== undefined && this.#faultOf(jid, part) === undefined; part = parts[0]) {
          parts.shift();
          this.#refusedBytes -= part.bytes.byteLength;
        }
        if (parts.length === 0) this.#refused.delete(jid);
      } catch (error) {
        this.forget(jid);
        onLost(jid, error);
      }
    }
  }

  forget(jid: string): void {
    for (const { bytes } of this.#refused.get(jid) ?? []) this.#refusedBytes -= bytes.byteLength;
    this.#refused.delete(jid);
  }

  /** Whether the log here has the end of its batch job. */
  isEnded(jid: string): boolean {
    try {
      return hasBatch(this.#directory, jid) && readBatchSummary(this.#directory, jid)?.last.kind === "done";
    } catch (error) {
      this.#onRefused(jid, error);
      return false;
    }
  }

  /** Removes the log of a batch job that this member began and that its cluster never got. */
  remove(jid: string): void {
    try {
      removeBatch(this.#directory, jid);
    } catch (error) {
      this.#onRefused(jid, error);
    }
  }

  /**
   * Removes what an earlier process began without the cluster: a log of the cluster's that it does not have, and that has neither steps nor an end.
   *
   * @returns the job ids
   */
  removeUnknown(clusterId: string, isKnown: (jid: string) => boolean): string[] {
    const unknown = listBatches(this.#directory).filter((jid) => !isKnown(jid) && this.#isWithoutSteps(clusterId, jid));
    for (const jid of unknown) this.remove(jid);
    return unknown;
  }

  #isWithoutSteps(clusterId: string, jid: string): boolean {
    try {
      const summary = readBatchSummary(this.#directory, jid);
      if (summary?.first.cluster !== clusterId || summary.last.kind === "done") return false;
      const entries = readBatchEntries(this.#directory, jid, 0, Number.MAX_SAFE_INTEGER);
      return !entries.some(({ entry }) => entry.kind === "queue");
    } catch (error) {
      this.#onRefused(jid, error);
      return false;
    }
  }

  #hold(jid: string, earlier: CopiedPart[], part: CopiedPart): void {
    if (this.#refusedBytes + part.bytes.byteLength > refusedPartsBytesMax) {
      this.forget(jid);
      throw new SaltworksError("STORE_FAILED", `the log of ${jid} cannot be written, and too many wait`, { jid });
    }
    earlier.push({ ...part, bytes: Buffer.from(part.bytes) });
    this.#refusedBytes += part.bytes.byteLength;
    this.#refused.set(jid, earlier);
  }

  /** Tries to write. @returns the fault of the system, which may pass */
  #faultOf(jid: string, { offset, bytes, isKnown }: CopiedPart): unknown {
    try {
      copyBatchPart(this.#directory, jid, offset, bytes, isKnown);
      return undefined;
    } catch (error) {
      if (isFaultOfDisk(error)) return error;
      throw error;
    }
  }
}
