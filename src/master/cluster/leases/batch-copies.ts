/**
 * The logs of the cluster's batch jobs. The owner of one sends its log part by part. Every other member writes the parts into a log of its own, so that it
 * shows the job as the owner does, and can go on with it. docs/decisions/0049-job-leases.md.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import type { OwnerQuestion } from "../../../cluster/leases/asks.ts";
import type { LeaseBucket } from "../../../cluster/leases/bucket.ts";
import { LogSender } from "../../../cluster/leases/log-sender.ts";
import type { MemberLeases } from "../../../cluster/leases/member-leases.ts";
import { isSameOwner, type Owner, type PartContent } from "../../../cluster/leases/record.ts";
import { SaltworksError } from "../../../errors.ts";
import {
  batchStepsMax,
  clusterRetryMs,
  jobClaimsUnderWayMax,
  ownWriteLookMs,
  sharedLogKeptMs,
} from "../../../limits.ts";
import { BatchLog, batchLine, isEndOfBatch, type OpenBatchLog } from "../../../store/jobs/batch-log.ts";
import type { Batches } from "../../batch-jobs/batches.ts";
import { BatchRun } from "../../batch-jobs/run.ts";
import type { BatchControl, BatchLogs, BatchSharing, RunningBatch } from "../../batch-jobs/sharing.ts";
import { CopiedLogs } from "./copied-logs.ts";
import { CopyRepairs, extend, type LogCopy } from "./copy-repairs.ts";
import { EndedBatches } from "./ended-batches.ts";

/** A batch job that is not over. `isKept`: read at the start, and over as the log here says, which is left as it is. */
type Copy = LogCopy & { owner: Owner; readonly isKept: boolean };

/** `id`: of this sender alone. Of two for the same job each knows its own parts by it. `written`: its latest part that the watch brought, or the one before its first. */
type Sending = { readonly sender: LogSender; readonly id: string; written: number };

export type BatchCopiesOptions = {
  readonly clusterId: string;
  readonly directory: string;
  readonly leases: MemberLeases;
  readonly bucket: () => Pick<LeaseBucket, "put" | "read" | "removeParts" | "noteFault"> | undefined;
  readonly ask: (owner: Owner, question: OwnerQuestion) => Promise<unknown>;
  readonly logger: Logger;
};

export type RunBatches = Pick<Batches, "takeOver" | "isRunning" | "owesAbort" | "release" | "control" | "sweep">;

export class BatchCopies implements BatchSharing {
  /** `taken`: taken over from another owner. `lost`: taken over by another one. `broken`: that this member cannot go on with. `putBack`: over, and in the cluster again. */
  readonly counters = { taken: 0, lost: 0, broken: 0, putBack: 0 };
  readonly #options: BatchCopiesOptions;
  readonly #copies = new Map<string, Copy>();
  readonly #senders = new Map<string, Sending>();
  readonly #logs: CopiedLogs;
  readonly #repairs: CopyRepairs;
  readonly #ended: EndedBatches;
  readonly #claiming = new Set<string>();
  /** Batch jobs that have run here while this member holds its lease. One that stopped after an error is not tried again. */
  readonly #ran = new Set<string>();
  #batches: RunBatches | undefined;
  isCopied = false;

  constructor(options: BatchCopiesOptions) {
    this.#options = options;
    const { directory, logger, bucket } = options;
    this.#repairs = new CopyRepairs({
      ...{ directory, logger, bucket },
      isOwn: (jid) => this.#senders.has(jid) || this.#batches?.isRunning(jid) === true,
      onGone: (jid, isOver) => {
        if (isOver) this.#drop(jid, this.#copies.get(jid)?.next ?? 0);
        else this.#copies.delete(jid);
      },
    });
    this.#ended = new EndedBatches({ directory, logger, bucket, mark: (jid, number) => this.#isGone(jid, number) });
    const onRefused = (jid: string, err: unknown) =>
      logger.error({ err, batch: jid }, "the log of another member's batch job cannot be written now: tries again");
    this.#logs = new CopiedLogs(directory, onRefused);
  }

  readonly logs: BatchLogs = {
    create: (directory, jid) => this.#shared(jid, BatchLog.create(directory, jid), { next: 0, end: 0 }),
    reopen: (directory, jid) => {
      const { log, entries } = BatchLog.reopen(directory, jid);
      const copy = this.#copies.get(jid);
      return { log: copy === undefined ? log : this.#shared(jid, log, copy), entries };
    },
  };

  use(batches: RunBatches): void {
    this.#batches = batches;
  }

  /** Copies that could not be written, and are whole again; and ones of jobs that are over and were given up. */
  get repairs(): CopyRepairs["counters"] {
    return this.#repairs.counters;
  }

  states(): ReadonlyMap<string, RunningBatch> {
    const known = [...this.#copies].filter(([, { run }]) => run.plan !== undefined);
    return new Map(known.map(([jid, { run }]) => [jid, { state: run.state, ...run.counts }] as const));
  }

  /** Of each batch job that is not over. */
  owners(): readonly Owner[] {
    return [...this.#copies.values()].map(({ owner }) => owner);
  }

  control(action: BatchControl, jid: string, user: string): Promise<string> | undefined {
    const { leases, ask } = this.#options;
    const copy = this.#copies.get(jid);
    const question: OwnerQuestion = { kind: "control", action, jid, user };
    // Before all are read, what this member has of the job may be old, and another one may own it.
    if (copy === undefined) return this.isCopied ? undefined : (ask(leases.self, question) as Promise<string>);
    // An own one that rests takes no entry: the write would wait for a lease, or meet the claim.
    const rests = this.#batches?.isRunning(jid) !== true && (!leases.holds || this.#claiming.has(jid));
    if (isSameOwner(copy.owner, leases.self) && !rests) return undefined;
    // Asked for one of this member, `ask` says that it has no owner at present.
    return ask(copy.owner, question) as Promise<string>;
  }

  forget(jid: string): void {
    const { bucket } = this.#options;
    this.#logs.forget(jid);
    this.#repairs.forget(jid);
    bucket()
      ?.removeParts(jid)
      .catch((error: Error) => bucket()?.noteFault(error));
  }

  /** Takes a part of a log. */
  note(jid: string, number: number, part: PartContent): void {
    const { leases, logger } = this.#options;
    if (part.isGone === true) {
      this.#drop(jid, number);
      return;
    }
    const sending = this.#senders.get(jid);
    if (sending !== undefined && sending.id === part.sender) sending.written = Math.max(sending.written, number);
    const copy = this.#copyOf(jid, number, part);
    if (copy === undefined || number < copy.next) return;
    if (number > copy.next) this.#break(copy, jid, new Error(`part ${copy.next} is missing`));
    copy.next = number + 1;
    copy.owner = part.owner;
    const isOwn = isSameOwner(part.owner, leases.self);
    if (!isOwn && sending !== undefined) {
      logger.warn({ batch: jid, owner: part.owner.member }, "another member goes on with a batch job");
      this.counters.lost += 1;
      this.#release(jid);
    }
    this.#copy(copy, jid, part, isOwn);
    if (part.isClaim && isOwn) this.#begin(jid, copy);
  }

  /** All parts that were there at the start are read. */
  noteCopied(): void {
    this.isCopied = true;
    const { clusterId, logger } = this.#options;
    const jids = this.#logs.removeUnknown(clusterId, (jid) => this.#copies.has(jid) || this.#senders.has(jid));
    if (jids.length > 0) logger.warn({ jids }, "batch jobs of this member that the cluster never had are dropped");
    const nothing = { bytes: Buffer.alloc(0), isClaim: true } as const;
    for (const [jid, copy] of [...this.#copies]) {
      if (this.#ended.has(jid)) {
        this.#copies.delete(jid);
        this.#repairs.forget(jid);
        this.#logs.forget(jid);
        this.#notePutBack(jid, copy.next - 1);
        continue;
      }
      // Lines that this member wrote before its end and that the cluster lacks.
      const offset = copy.end + copy.rest.byteLength;
      this.#copy(copy, jid, { ...nothing, owner: copy.owner, offset }, false);
    }
    this.#batches?.sweep();
  }

  /** Claims the batch jobs whose owner's lease has ended, and its own ones that rest. */
  look(): void {
    const { leases } = this.#options;
    this.#logs.retry((jid, error) => {
      const copy = this.#copies.get(jid);
      if (copy !== undefined) this.#break(copy, jid, error);
    });
    this.#repairs.look();
    this.#ended.save();
    if (!this.isCopied || !leases.holds) return;
    this.#ended.removeUnwanted();
    for (const [jid, copy] of this.#copies) {
      if (this.#claiming.size >= jobClaimsUnderWayMax) return;
      if (copy.isBroken || !this.#logs.isWhole(jid) || this.#ran.has(jid)) continue;
      if (this.#batches?.isRunning(jid) !== false || this.#batches.owesAbort(jid)) continue;
      if (isSameOwner(copy.owner, leases.self) || leases.hasLapsed(copy.owner)) void this.#claim(jid, copy);
    }
  }

  /** This member must not act any more. */
  releaseAll(): void {
    for (const jid of [...this.#senders.keys()]) this.#release(jid);
    this.#ran.clear();
  }

  /** Ends the batch jobs here. Resolves when the cluster has what they wrote. */
  async finish(): Promise<void> {
    for (const jid of this.#senders.keys()) this.#batches?.release(jid);
    await Promise.all([...this.#senders.values()].map(({ sender }) => sender.drained()));
    this.#ended.save();
  }

  abort(): void {
    for (const { sender } of this.#senders.values()) sender.abort();
  }

  #copyOf(jid: string, number: number, { owner }: PartContent): Copy | undefined {
    const known = this.#copies.get(jid);
    // Without its first part a log that was there at the start is one that the cluster has not kept.
    if (known !== undefined || (number > 0 && !this.isCopied)) return known;
    const isEnded = this.#ended.has(jid);
    if (isEnded && this.isCopied) {
      this.#notePutBack(jid, number);
      return undefined;
    }
    // Until all is read, the end of the log may follow.
    const isKept = isEnded && this.#logs.isEnded(jid);
    const run = new BatchRun(batchStepsMax);
    const copy = { owner, next: 0, end: 0, rest: Buffer.alloc(0), run, isBroken: false, isKept };
    this.#copies.set(jid, copy);
    return copy;
  }

  #copy(copy: Copy, jid: string, { offset, bytes, isClaim }: PartContent, isOwn: boolean): void {
    if (copy.isBroken) {
      if (isEndOfBatch(bytes)) this.#over(jid, isOwn);
      return;
    }
    try {
      // What a former owner wrote and the cluster lacks ends with the claim of the next one.
      const isKnown = !isClaim && (isOwn || !this.isCopied);
      if (!copy.isKept) this.#logs.write(jid, { offset, bytes, isKnown });
      const placed = extend(copy, { offset, bytes });
      if (placed.at(-1)?.entry.kind === "done") this.#over(jid, isOwn);
    } catch (error) {
      this.#break(copy, jid, error);
      if (isEndOfBatch(bytes)) this.#over(jid, isOwn);
    }
  }

  /** A member that runs no batch job removes old logs at the end of the others'. */
  #over(jid: string, isOwn: boolean): void {
    this.#copies.delete(jid);
    this.#ended.add(jid);
    this.#repairs.noteOver(jid);
    if (!isOwn) this.#batches?.sweep();
  }

  #notePutBack(jid: string, number: number): void {
    if (this.#ended.notePutBack(jid, number)) this.counters.putBack += 1;
  }

  #break(copy: Copy, jid: string, err: unknown): void {
    if (copy.isBroken) return;
    copy.isBroken = true;
    if (copy.isKept) return;
    this.counters.broken += 1;
    this.#options.logger.error({ err, batch: jid }, "the log of another member's batch job cannot be copied");
    this.#logs.forget(jid);
    this.#repairs.add(jid, copy);
  }

  #begin(jid: string, copy: Copy): void {
    const { leases, logger } = this.#options;
    // A claim may come late. The next look claims again.
    if (!leases.holds || copy.isBroken || !this.#logs.isWhole(jid)) return;
    if (this.#batches === undefined || this.#batches.isRunning(jid)) return;
    this.#ran.add(jid);
    this.counters.taken += 1;
    try {
      this.#batches.takeOver(jid);
    } catch (error) {
      logger.error({ err: error, batch: jid }, "a batch job cannot be resumed");
    }
  }

  async #claim(jid: string, copy: Copy): Promise<void> {
    if (this.#claiming.has(jid)) return;
    this.#claiming.add(jid);
    const { next: number } = copy;
    try {
      if (await this.#isGone(jid, number - 1)) {
        this.#drop(jid, number - 1);
        return;
      }
      await this.#putPart(jid, number, { offset: copy.end, bytes: new Uint8Array(0), isClaim: true });
      // The watch brings this member's claim, or another's.
      await this.#untilRead(() => copy.next > number || !this.#options.leases.holds);
    } catch (error) {
      this.#options.bucket()?.noteFault(error);
    } finally {
      this.#claiming.delete(jid);
    }
  }

  /**
   * Whether the parts of a log were removed, because its job was over. The watch brings nothing of that, but the leader refuses a part that is there. One
   * that is not becomes a mark, for other members that were away.
   */
  async #isGone(jid: string, number: number): Promise<boolean> {
    const mark = { offset: 0, bytes: new Uint8Array(0), isClaim: false, isGone: true };
    return (await this.#putPart(jid, number, mark)) !== undefined;
  }

  /** Nothing goes on with a log that is gone from this part on. */
  #drop(jid: string, number: number): void {
    const copy = this.#copies.get(jid);
    if (copy === undefined || copy.next > number + 1) return;
    this.#options.logger.info({ batch: jid }, "a batch job was over while this member was away");
    this.#release(jid);
    this.#copies.delete(jid);
    this.#ended.add(jid);
    this.#repairs.forget(jid);
    this.#batches?.sweep();
  }

  #release(jid: string): void {
    const sender = this.#senders.get(jid)?.sender;
    sender?.abort();
    this.#senders.delete(jid);
    this.#ran.delete(jid);
    this.#batches?.release(jid);
    // Its client was refused. If the cluster has it all the same, the watch brings it.
    if (sender?.isUnknown === true && !this.#copies.has(jid)) this.#logs.remove(jid);
  }

  #shared(jid: string, log: OpenBatchLog, { next, end: offset }: Pick<Copy, "next" | "end">): OpenBatchLog {
    this.#ran.add(jid);
    const id = randomBytes(9).toString("base64url");
    const sender = new LogSender({
      ...{ jid, next, offset },
      put: (number, at, bytes) => this.#send(jid, sending, number, { offset: at, bytes }),
      onLost: () => this.#release(jid),
      onFault: (error) => this.#options.bucket()?.noteFault(error),
    });
    const sending: Sending = { sender, id, written: next - 1 };
    this.#senders.set(jid, sending);
    const cluster = this.#options.clusterId;
    return {
      append: (entry) => {
        const placed = log.append(entry.kind === "new" ? { ...entry, cluster } : entry);
        sender.add(batchLine(placed.entry));
        return placed;
      },
      sync: async () => {
        await Promise.all([log.sync(), sender.synced()]);
      },
      close: () => {
        log.close();
        void sender.drained().then(() => {
          if (this.#senders.get(jid) === sending) this.#senders.delete(jid);
        });
      },
    };
  }

  /** @returns false if another sender, of this member or another one, has written a part of this number */
  async #send(
    jid: string,
    sending: Sending,
    number: number,
    part: Pick<PartContent, "offset" | "bytes">,
  ): Promise<boolean> {
    const content = { ...part, isClaim: false, sender: sending.id };
    if ((await this.#putPart(jid, number, content)) !== undefined) return true;
    // An earlier try may have written it. The watch tells. Without the copy that there was, the job is over: its last part was this one or another's.
    const isRead = () => {
      const copy = this.#copies.get(jid);
      return sending.written >= number || (copy === undefined ? sending.written >= 0 : copy.next > number);
    };
    if (await this.#untilRead(isRead)) return sending.written >= number;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", `a part of the batch job ${jid} was not read back`, { jid });
  }

  /** @returns false if the watch does not bring it in time */
  async #untilRead(isRead: () => boolean): Promise<boolean> {
    const untilMs = performance.now() + ownWriteLookMs;
    while (!isRead()) {
      if (performance.now() >= untilMs) return false;
      await pause(clusterRetryMs);
    }
    return true;
  }

  async #putPart(jid: string, number: number, part: Omit<PartContent, "owner">): Promise<number | undefined> {
    const bucket = this.#options.bucket();
    if (bucket === undefined)
      throw new SaltworksError("CLUSTER_UNAVAILABLE", "this member has not joined its cluster yet");
    const content: PartContent = { ...part, owner: this.#options.leases.self };
    return await bucket.put({ kind: "part", jid, number }, content, { revision: 0, lifeMs: sharedLogKeptMs });
  }
}
