/**
 * Mends copies of batch logs that lack a part, or whose file cannot be written on: reads all parts from the cluster again. It takes one log at a time, and
 * the watch goes on meanwhile.
 */
import type { Logger } from "pino";
import type { LeaseBucket } from "../../../cluster/leases/bucket.ts";
import type { PartContent } from "../../../cluster/leases/record.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import { batchLogsMax, batchStepsMax, copyRepairRetryMs, copyRepairTriesMax } from "../../../limits.ts";
import { copyBatchPart, isFaultOfDisk, type PlacedEntry, placeLines } from "../../../store/jobs/batch-log.ts";
import { BatchRun } from "../../batch-jobs/run.ts";

/** What was read of a log. */
export type LogCopy = {
  /** Number of the part that comes next. */
  next: number;
  /** Where the last whole line ends, and the bytes after it. */
  end: number;
  rest: Buffer;
  run: BatchRun;
  /** Parts are missing here, or could not be written. */
  isBroken: boolean;
};

/** `tries`: that the cluster has answered, and the disk here has not refused. `isOver`: the job has ended meanwhile, so that no other part comes. */
type Repair = { readonly copy: LogCopy; tries: number; isOver: boolean; isTold: boolean };

export type CopyRepairsOptions = {
  readonly directory: string;
  readonly bucket: () => Pick<LeaseBucket, "read"> | undefined;
  /** Whether this member writes the log itself. */
  readonly isOwn: (jid: string) => boolean;
  /** The log cannot be mended. `isOver`: the cluster has neither its beginning nor its latest part, so that its job is over. */
  readonly onGone: (jid: string, isOver: boolean) => void;
  readonly logger: Pick<Logger, "info" | "warn">;
};

export class CopyRepairs {
  /** `repaired`: copies that are whole again. `given up`: ones of jobs that were over. */
  readonly counters = { repaired: 0, givenUp: 0 };
  readonly #options: CopyRepairsOptions;
  /** Copies to mend, by job id, in the order of their turns: of batch jobs that are not over, and of `batchLogsMax` that are. */
  readonly #due = new Map<string, Repair>();
  #isMending = false;
  #mayTryMs = 0;

  constructor(options: CopyRepairsOptions) {
    this.#options = options;
  }

  add(jid: string, copy: LogCopy): void {
    if (!this.#due.has(jid)) this.#due.set(jid, { copy, tries: 0, isOver: false, isTold: false });
  }

  /** The job has ended: its log is mended all the same, so that it shows how. */
  noteOver(jid: string): void {
    const repair = this.#due.get(jid);
    if (repair === undefined) return;
    repair.isOver = true;
    // Nothing shows it any more, and it may be large.
    repair.copy.run = new BatchRun(batchStepsMax);
    const over = [...this.#due].filter(([, { isOver }]) => isOver);
    if (over.length > batchLogsMax) this.#giveUp(over[0]?.[0] ?? jid);
  }

  forget(jid: string): void {
    this.#due.delete(jid);
  }

  /** Mends all that are due, unless the latest try was less than `copyRepairRetryMs` ago. */
  look(): void {
    if (this.#due.size === 0 || this.#isMending || performance.now() < this.#mayTryMs) return;
    this.#isMending = true;
    void this.#mendAll().finally(() => {
      this.#isMending = false;
      this.#mayTryMs = performance.now() + copyRepairRetryMs;
    });
  }

  async #mendAll(): Promise<void> {
    for (const [jid, repair] of [...this.#due]) {
      if (this.#options.isOwn(jid)) continue;
      try {
        await this.#mend(jid, repair);
      } catch (error) {
        if (this.#noteFault(jid, repair, error)) break;
      }
    }
  }

  async #mend(jid: string, repair: Repair): Promise<void> {
    const { directory, isOwn, logger } = this.#options;
    const { copy } = repair;
    const read: LogCopy = { next: 0, end: 0, rest: Buffer.alloc(0), run: new BatchRun(batchStepsMax), isBroken: false };
    while (read.next < copy.next) {
      const part = await this.#part(jid, read.next, copy.next - 1);
      // Meanwhile the log was removed, or this member has claimed it.
      if (this.#due.get(jid) !== repair || isOwn(jid)) return;
      copyBatchPart(directory, jid, part.offset, part.bytes, !part.isClaim);
      extend(read, part);
      read.next += 1;
    }
    copyBatchPart(directory, jid, read.end + read.rest.byteLength, new Uint8Array(0), false);
    Object.assign(copy, read);
    this.#due.delete(jid);
    this.counters.repaired += 1;
    logger.info({ batch: jid }, "the copy of another member's batch log is whole again");
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE, STORE_FAILED if the cluster does not have the part: `isGone` if it lacks the latest one, too */
  async #part(jid: string, number: number, latest: number): Promise<PartContent> {
    const part = await this.#read(jid, number);
    if (part !== undefined) return part;
    const isGone = number === latest || (await this.#read(jid, latest)) === undefined;
    throw new SaltworksError("STORE_FAILED", `the cluster does not have part ${number}`, { jid, number, isGone });
  }

  async #read(jid: string, number: number): Promise<PartContent | undefined> {
    const bucket = this.#options.bucket();
    if (bucket === undefined)
      throw new SaltworksError("CLUSTER_UNAVAILABLE", "this member has not joined its cluster yet");
    const part = await bucket.read<PartContent>({ kind: "part", jid, number });
    return part?.isGone === true ? undefined : part;
  }

  /** @returns whether the disk here is at fault, which the other copies would meet, too */
  #noteFault(jid: string, repair: Repair, err: unknown): boolean {
    const { logger, onGone } = this.#options;
    if (!repair.isTold) logger.warn({ err, batch: jid }, "a copy of a batch log cannot be mended now: tries again");
    repair.isTold = true;
    if (hasCode(err, "CLUSTER_UNAVAILABLE") || this.#due.get(jid) !== repair) return false;
    if (isFaultOfDisk(err)) {
      // The others have their turn first.
      this.#due.delete(jid);
      this.#due.set(jid, repair);
      return true;
    }
    repair.tries += 1;
    if (repair.tries < copyRepairTriesMax) return false;
    const isGone = err instanceof SaltworksError && err.detail.isGone === true;
    if (repair.isOver) this.#giveUp(jid);
    else if (isGone || repair.copy.run.plan === undefined) {
      this.#due.delete(jid);
      onGone(jid, isGone);
    }
    return false;
  }

  #giveUp(jid: string): void {
    this.#due.delete(jid);
    this.counters.givenUp += 1;
  }
}

/** Takes a part, which begins where the former one ends, or earlier if it is a claim. @returns the entries that are whole now */
export function extend(
  copy: LogCopy,
  { offset, bytes }: Pick<PartContent, "offset" | "bytes">,
): readonly PlacedEntry[] {
  const placed: PlacedEntry[] = [];
  const whole = Buffer.concat([copy.rest.subarray(0, offset - copy.end), bytes]);
  const end = placeLines(whole, copy.end, placed);
  copy.rest = whole.subarray(end - copy.end);
  copy.end = end;
  for (const { entry } of placed) copy.run.apply(entry);
  return placed;
}
