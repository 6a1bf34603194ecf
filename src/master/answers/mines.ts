/**
 * Answers `_mine_get`. Every worker matches the target and reads its minions' mines in slices. The slices are joined as bytes, and the asking
 * minion's worker encrypts the answer. Reads under way, waiting reads and the bytes of an answer are bounded.
 */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { mineAnswerBytesMax, mineReadsMax, mineReadsWaitingMax, mineWaitMs, mineWindowBytes } from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import type { MineAsk } from "../../workers/messages/deferred.ts";
import type { MineFindAnswer, MineReadTask, MineSlice } from "../../workers/messages/worker.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { matchOn } from "../publish/expected-minions.ts";

export type MineAnswersOptions = {
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  readonly logger: Logger;
  readonly answerBytesMax?: number;
};

type FoundFirst = Extract<MineFindAnswer, { state: "ready" }>;
type Found = { matched: number; readonly counts: number[]; readonly pairs: Uint8Array[][] };

export class MineAnswers {
  readonly counters = { answered: 0, unmatched: 0, tooLarge: 0, refused: 0, slices: 0, bytes: 0 };
  readonly #options: MineAnswersOptions;
  readonly #bytesMax: number;
  readonly #waiting: { readonly sinceMs: number; readonly start: () => void; readonly refuse: () => void }[] = [];
  #running = 0;

  constructor(options: MineAnswersOptions) {
    this.#options = options;
    this.#bytesMax = options.answerBytesMax ?? mineAnswerBytesMax;
  }

  /** Number of reads under way or waiting. */
  get pending(): number {
    return this.#running + this.#waiting.length;
  }

  /** @returns the encrypted reply. @throws SaltworksError QUEUE_FULL, TASK_TIMEOUT, or what the pool throws */
  async answer(ask: MineAsk): Promise<Uint8Array> {
    await this.#turn();
    try {
      const parts = await this.#read(ask);
      const sealed = await this.#seal(ask, parts);
      this.counters.answered += 1;
      this.counters.bytes += sealed.length;
      return sealed;
    } finally {
      this.#running -= 1;
      this.#startNext();
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < mineReadsMax) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= mineReadsWaitingMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", "too many minions wait for mines", { mineReadsWaitingMax });
    }
    await new Promise<void>((resolve, reject) => {
      const refuse = () =>
        reject(new SaltworksError("TASK_TIMEOUT", "a question for mines waited too long", { mineWaitMs }));
      this.#waiting.push({ sinceMs: performance.now(), start: resolve, refuse });
    });
  }

  /** Begins a waiting read. Refuses reads that waited for over `mineWaitMs`, because their minions no longer listen. */
  #startNext(): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (performance.now() - next.sinceMs <= mineWaitMs) {
        this.#running += 1;
        next.start();
        return;
      }
      this.counters.refused += 1;
      next.refuse();
    }
  }

  /** Reads the answer, encoded, in parts. */
  async #read(ask: MineAsk): Promise<readonly Uint8Array[]> {
    const found: Found = { matched: 0, counts: ask.functions.map(() => 0), pairs: ask.functions.map(() => []) };
    const budget = { bytes: this.#bytesMax };
    const slots = Array.from({ length: this.#options.pool.slotCount }, (_, slot) =>
      this.#readSlot(ask, slot, found, budget),
    );
    try {
      await Promise.all(slots);
    } catch (error) {
      // A target that cannot be parsed matches no minion, as in Salt.
      if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
      const { targetKind } = ask;
      this.#options.logger.warn({ error: error.message, targetKind }, "target of a mine request refused");
      return [mapHead(0)];
    }
    if (found.matched === 0) this.counters.unmatched += 1;
    return budget.bytes < 0 ? [this.#tooLarge(ask)] : assembled(ask, found);
  }

  async #readSlot(ask: MineAsk, slot: number, found: Found, budget: { bytes: number }): Promise<void> {
    const { id: asker, functions, target, targetKind } = ask;
    const match = { kind: "match", target, targetKind, delimiter: ":", isGreedy: false } as const;
    const wanted = { asker, functions, bytesMax: this.#bytesMax };
    const first = await matchOn<FoundFirst>(this.#options.pool, slot, { kind: "mineFind", ...wanted, match });
    found.matched += first.count;
    this.#take(first.slice, found, budget);
    const { rest } = first;
    for (let at = 0; at < rest.length && budget.bytes >= 0; ) {
      // A copy of the next window, because posting a view would copy the whole list.
      const ids = rest.slice(at, at + mineWindowBytes);
      const task: MineReadTask = { kind: "mineRead", ...wanted, bytesMax: budget.bytes, ids };
      const build = () => ({ task, transfer: [] });
      const slice = await this.#options.pool.offer<MineSlice>(slot, { bytes: ids.length, build });
      const readBytes = this.#take(slice, found, budget);
      if (readBytes === 0 && budget.bytes >= 0)
        throw new SaltworksError("WIRE_MALFORMED", "a list of ids that does not end", { slot });
      at += readBytes;
    }
  }

  /** @returns bytes of the list of ids that are done */
  #take(slice: MineSlice, found: Found, budget: { bytes: number }): number {
    this.counters.slices += 1;
    budget.bytes -= slice.state === "read" ? slice.pairs.length : Number.POSITIVE_INFINITY;
    if (slice.state === "tooLarge" || budget.bytes < 0) return 0;
    gather(found, slice);
    return slice.readBytes;
  }

  /** Answers with a text: an empty map would look like minions without such data. */
  #tooLarge({ id, functions }: MineAsk): Uint8Array {
    this.counters.tooLarge += 1;
    const max = this.#bytesMax;
    this.#options.logger.error({ minion: id, functions, bytesMax: max }, "an answer of mines is too large");
    return encode(`mine.get refused by the master: the answer is over ${max} bytes; ask for fewer minions`, "raw");
  }

  #seal({ id, seal }: MineAsk, parts: readonly Uint8Array[]): Promise<Uint8Array> {
    const { pool, partitioner } = this.#options;
    const task = { kind: "sealReply", id, seal, parts };
    const build = () => ({ task, transfer: [] });
    return pool.offer<Uint8Array>(partitioner.slotOf(id, pool.slotCount), { bytes: 0, build });
  }
}

function gather({ counts, pairs }: Found, slice: Extract<MineSlice, { state: "read" }>): void {
  let start = 0;
  for (const [index, end] of slice.ends.entries()) {
    counts[index] = (counts[index] ?? 0) + (slice.counts[index] ?? 0);
    // The pairs of a single function need no copy. Posting a view of one of several would copy them all.
    if (end > start) pairs[index]?.push(slice.ends.length === 1 ? slice.pairs : slice.pairs.slice(start, end));
    start = end;
  }
}

/** Functions without a value are left out, as in Salt. */
function assembled({ functions, isByFunction }: MineAsk, { counts, pairs }: Found): readonly Uint8Array[] {
  const maps = functions.flatMap((name, index) => {
    const count = counts[index] ?? 0;
    return count === 0 ? [] : [{ name, parts: [mapHead(count), ...(pairs[index] ?? [])] }];
  });
  if (!isByFunction) return maps[0]?.parts ?? [mapHead(0)];
  return [mapHead(maps.length), ...maps.flatMap(({ name, parts }) => [encode(name, "raw"), ...parts])];
}

function mapHead(count: number): Uint8Array {
  if (count <= 15) return Uint8Array.of(0x80 | count);
  const head = Buffer.alloc(count <= 0xffff ? 3 : 5, count <= 0xffff ? 0xde : 0xdf);
  if (count <= 0xffff) head.writeUInt16BE(count, 1);
  else head.writeUInt32BE(count, 1);
  return head;
}
