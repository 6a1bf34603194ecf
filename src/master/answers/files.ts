/**
 * Answers requests for files: the file lane makes the answer, and the asking minion's worker encrypts it. Answers are large, and a whole fleet may
 * ask at once. So the requests under way, the waiting requests, and the bytes on their way to minions are bounded.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import type { PushRefusal, Usage } from "../../fileserver/pushed/usage.ts";
import {
  fileAnswerKeptBytesMax,
  fileBytesOnTheirWayMax,
  fileDeliveryMs,
  fileRequestsMax,
  fileRequestsWaitingBytesMax,
  fileRequestsWaitingMax,
  fileWaitMs,
} from "../../limits.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { FileResult, KeptAnswers } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { RequestConnection } from "../ports/request-connection.ts";

type FileWork = Extract<Deferred, { kind: "files" }>;

export type FileAnswersOptions = {
  readonly lane: Pick<LanePool, "run">;
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  /** Largest size of a piece of a file (`file_buffer_size`). */
  readonly pieceBytes: number;
  readonly bytesOnTheirWayMax?: number;
  readonly nowMs?: () => number;
  /** Called when a minion's push is refused because of `bound`. */
  readonly onPushRefused?: (id: string, bound: PushRefusal) => void;
  /** Called with what a file server's backend in Python wrote. */
  readonly onComplaint?: (text: string) => void;
};

type Waiting = {
  readonly cmd: string;
  readonly loadBytes: number;
  readonly sinceMs: number;
  readonly start: (expectedBytes: number) => void;
  readonly refuse: (error: SaltworksError) => void;
};
/** Bytes of a connection's latest answer, and when it is assumed to be delivered. */
type Sent = { readonly bytes: number; readonly untilMs: number };

export class FileAnswers {
  readonly counters = { answered: 0, refused: 0, failed: 0, bytes: 0, pushesRefused: 0 };
  /** Number of refused pushes by bound. */
  readonly pushRefusals: Record<PushRefusal, number> = {
    file_recv_max_size: 0,
    file_recv_minion_max_size: 0,
    file_recv_minion_max_files: 0,
    file_recv_total_max_size: 0,
    file_recv_total_max_files: 0,
    uncounted: 0,
  };
  /** Size of the pushed files of all minions, as of the latest push. */
  pushed: Readonly<Usage> = { entries: 0, bytes: 0 };
  readonly #options: FileAnswersOptions;
  readonly #bytesMax: number;
  readonly #nowMs: () => number;
  readonly #waiting: Waiting[] = [];
  /** By connection, in the order of sending, so the first is assumed to be delivered first. */
  readonly #sent = new Map<number, Sent>();
  /** Bytes of the latest answer of each command for lists. The next one is expected to have as many. */
  readonly #listBytes = new Map<string, number>();
  #waitingBytes = 0;
  #running = 0;
  #expectedBytes = 0;
  #sentBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FileAnswersOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesOnTheirWayMax ?? fileBytesOnTheirWayMax;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Bytes of answers that are being made or delivered. */
  get bytesOnTheirWay(): number {
    return this.#sentBytes + this.#expectedBytes;
  }

  /** @returns the encrypted reply. @throws SaltworksError QUEUE_FULL, TASK_TIMEOUT, or what lane and pool throw */
  async answer({ task, id, seal, kept }: FileWork, { number: connection }: RequestConnection): Promise<Uint8Array> {
    // A client that asks again has read its previous answer, because a REQ socket sends one request at a time.
    this.#noteDelivered(connection);
    const expectedBytes = await this.#turn(task.cmd, task.load.byteLength);
    try {
      const result = await this.#options.lane.run<FileResult>(task);
      const { answer, push, complaints = [] } = result;
      for (const text of complaints) this.#options.onComplaint?.(text);
      this.#notePush(id, push);
      if (task.cmd !== "_serve_file") this.#listBytes.set(task.cmd, answer.byteLength);
      const { pool, partitioner } = this.#options;
      const others = kept === undefined ? {} : { kept: keptAnswers(kept, result) };
      const build = () => ({ task: { kind: "sealReply", id, seal, parts: [answer], ...others }, transfer: [] });
      const slot = partitioner.slotOf(id, pool.slotCount);
      const reply = await pool.offer<Uint8Array>(slot, { bytes: answer.byteLength, build });
      this.#noteSent(connection, reply.byteLength);
      return reply;
    } catch (error) {
      this.counters.failed += 1;
      throw error;
    } finally {
      this.#running -= 1;
      this.#expectedBytes -= expectedBytes;
      this.#startNext();
    }
  }

  #notePush(id: string, push: FileResult["push"]): void {
    this.pushed = push?.total ?? this.pushed;
    if (push?.refusedBy === undefined) return;
    this.counters.pushesRefused += 1;
    this.pushRefusals[push.refusedBy] += 1;
    this.#options.onPushRefused?.(id, push.refusedBy);
  }

  #expected(cmd: string): number {
    return cmd === "_serve_file" ? this.#options.pieceBytes : (this.#listBytes.get(cmd) ?? 0);
  }

  /** Whether an answer may begin now. If no other is on its way it always may, because it may be larger than the bound. */
  #hasRoom(cmd: string): boolean {
    const bytes = this.bytesOnTheirWay;
    return this.#running < fileRequestsMax && (bytes === 0 || bytes + this.#expected(cmd) <= this.#bytesMax);
  }

  /** Resolves when this request may begin, and counts it as under way. @returns the bytes that it is expected to take */
  async #turn(cmd: string, loadBytes: number): Promise<number> {
    this.#dropDelivered();
    if (this.#waiting.length === 0 && this.#hasRoom(cmd)) return this.#begin(cmd);
    const isOver =
      this.#waiting.length >= fileRequestsWaitingMax || this.#waitingBytes + loadBytes > fileRequestsWaitingBytesMax;
    if (isOver) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", "too many requests for files wait", { fileRequestsWaitingMax });
    }
    this.#waitingBytes += loadBytes;
    return await new Promise<number>((start, refuse) => {
      this.#waiting.push({ cmd, loadBytes, sinceMs: this.#nowMs(), start, refuse });
      this.#startNext();
    });
  }

  #begin(cmd: string): number {
    const expectedBytes = this.#expected(cmd);
    this.#running += 1;
    this.#expectedBytes += expectedBytes;
    return expectedBytes;
  }

  /** Begins waiting requests. Refuses one that waited for over `fileWaitMs`, because its client no longer listens. */
  #startNext(): void {
    this.#dropDelivered();
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const isLate = this.#nowMs() - next.sinceMs > fileWaitMs;
      if (!isLate && !this.#hasRoom(next.cmd)) break;
      this.#waiting.shift();
      this.#waitingBytes -= next.loadBytes;
      if (!isLate) next.start(this.#begin(next.cmd));
      else {
        this.counters.refused += 1;
        next.refuse(new SaltworksError("TASK_TIMEOUT", "a request for files waited too long", { fileWaitMs }));
      }
    }
    const [first] = this.#sent.values();
    clearTimeout(this.#timer);
    if (this.#waiting.length === 0 || first === undefined) return;
    const afterMs = Math.max(1, first.untilMs - this.#nowMs());
    this.#timer = setTimeout(() => this.#startNext(), afterMs).unref();
  }

  #noteSent(connection: number, bytes: number): void {
    this.counters.answered += 1;
    this.counters.bytes += bytes;
    this.#noteDelivered(connection);
    this.#sent.set(connection, { bytes, untilMs: this.#nowMs() + fileDeliveryMs });
    this.#sentBytes += bytes;
  }

  #noteDelivered(connection: number): void {
    this.#sentBytes -= this.#sent.get(connection)?.bytes ?? 0;
    this.#sent.delete(connection);
  }

  #dropDelivered(): void {
    const nowMs = this.#nowMs();
    for (const [connection, { untilMs }] of this.#sent) {
      if (untilMs > nowMs) return;
      this.#noteDelivered(connection);
    }
  }
}

/** For the worker, which gives the answers to other minions. A large one is left out, because it would be copied in vain. */
function keptAnswers(
  { key, asked }: NonNullable<FileWork["kept"]>,
  { answer, ahead = [], isPart = false }: FileResult,
): KeptAnswers {
  const own = answer.byteLength <= fileAnswerKeptBytesMax ? [{ key, answer }] : [];
  return { answers: [...own, ...ahead], asked, isPart };
}

export function fileAnswersOf(parts: {
  readonly config: MasterConfig;
  readonly files: LanePool;
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  readonly logger: Logger;
}): FileAnswers {
  const { config, files, pool, partitioner, logger } = parts;
  const onPushRefused = (id: string, bound: PushRefusal) =>
    logger.warn(
      { id, bound },
      bound === "uncounted"
        ? "a file that a minion pushed is refused: the pushed files of all minions are still being counted"
        : "a file that a minion pushed is refused: it is larger than this bound, or there is no room below it",
    );
  const onComplaint = (text: string) => logger.warn({ python: text }, "a file server's backend in Python wrote");
  const pieceBytes = config.file_buffer_size;
  return new FileAnswers({ lane: files, pool, partitioner, pieceBytes, onPushRefused, onComplaint });
}
