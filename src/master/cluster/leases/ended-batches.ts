/**
 * The cluster's batch jobs that are over, also for this member's next process. A log that comes back into the cluster later, from a backup or from a user
 * of an operator's NATS, begins none of them again. docs/decisions/0049-job-leases.md.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { LeaseBucket } from "../../../cluster/leases/bucket.ts";
import { hasCodeIn } from "../../../config/files/system-errors.ts";
import { endedBatchesMax, jobClaimsUnderWayMax, refusedPartsRetryMs } from "../../../limits.ts";
import { replaceFile } from "../../../store/disk/durable-file.ts";

/** Beside the logs. One job id a line, in the order of their ends. */
const fileName = "ended";
const mode = 0o600;

export type EndedBatchesOptions = {
  readonly directory: string;
  readonly bucket: () => Pick<LeaseBucket, "removeParts" | "noteFault"> | undefined;
  /** Writes a mark in the place of a part, unless there is one. The other members read by it that the job is over. */
  readonly mark: (jid: string, number: number) => Promise<unknown>;
  readonly logger: Pick<Logger, "warn" | "error">;
};

export class EndedBatches {
  readonly #options: EndedBatchesOptions;
  /** At most `endedBatchesMax` job ids, the earliest end first, and whether the log has told that this one's parts came back. */
  readonly #ended = new Map<string, boolean>();
  /** Those of them whose parts are in the cluster again, and the number of the latest of these. */
  readonly #unwanted = new Map<string, number>();
  #isUnsaved = false;
  #maySaveMs = 0;

  constructor(options: EndedBatchesOptions) {
    this.#options = options;
    for (const jid of this.#saved()) this.#ended.set(jid, false);
  }

  has(jid: string): boolean {
    return this.#ended.has(jid);
  }

  add(jid: string): void {
    if (this.#ended.has(jid)) return;
    this.#ended.set(jid, false);
    this.#isUnsaved = true;
    const [oldest] = this.#ended.keys();
    if (oldest === undefined || this.#ended.size <= endedBatchesMax) return;
    this.#ended.delete(oldest);
    this.#unwanted.delete(oldest);
  }

  /** A part of a batch job that is over is in the cluster again. @returns whether this is the first time */
  notePutBack(jid: string, number: number): boolean {
    this.#unwanted.set(jid, Math.max(number, this.#unwanted.get(jid) ?? 0));
    if (this.#ended.get(jid) !== false) return false;
    this.#ended.set(jid, true);
    this.#options.logger.warn({ batch: jid }, "a batch job that is over was put back into the cluster: left alone");
    return true;
  }

  /** Removes such parts, because a member that is new cannot know that the job is over. It may have read them, so that a mark follows. */
  removeUnwanted(): void {
    const { mark } = this.#options;
    const bucket = this.#options.bucket();
    if (bucket === undefined) return;
    for (const [jid, number] of [...this.#unwanted].slice(0, jobClaimsUnderWayMax)) {
      this.#unwanted.delete(jid);
      const removed = bucket.removeParts(jid).then(() => mark(jid, number));
      removed.catch((error: Error) => {
        if (this.#ended.has(jid)) this.notePutBack(jid, number);
        bucket.noteFault(error);
      });
    }
  }

  /** Writes what is new to disk. What the disk refuses is tried again. */
  save(): void {
    const nowMs = performance.now();
    if (!this.#isUnsaved || nowMs < this.#maySaveMs) return;
    const { directory, logger } = this.#options;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      replaceFile(join(directory, fileName), [...this.#ended.keys(), ""].join("\n"), mode);
      this.#isUnsaved = false;
    } catch (err) {
      this.#maySaveMs = nowMs + refusedPartsRetryMs;
      logger.error({ err }, "the list of batch jobs that are over cannot be written now: tries again");
    }
  }

  #saved(): readonly string[] {
    const { directory, logger } = this.#options;
    try {
      const lines = readFileSync(join(directory, fileName), "utf8").split("\n");
      return lines.filter((line) => line !== "").slice(-endedBatchesMax);
    } catch (err) {
      if (!hasCodeIn(err, "ENOENT")) logger.error({ err }, "the list of batch jobs that are over cannot be read");
      return [];
    }
  }
}
