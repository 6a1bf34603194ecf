/**
 * Sends changed ids to the bucket: many in one batch, a bounded number at once, and again after a failure, with growing waits. It holds ids only, each once: what is sent is
 * read when its turn comes.
 */
import { keyBatch, keyPutRetryMs, keyPutsUnderWayMax } from "../../limits.ts";

/** Wait of a single id: its newer entry is on its way here, or its file is being written. */
const laterMs = 1_000;

export type SenderOptions = {
  /**
   * Compares the id again and sends what has changed, if anything. `later`: this id must be tried again. Rejects if the bucket does not answer: all are
   * then tried again.
   */
  readonly send: (id: string) => Promise<"sent" | "nothing" | "later">;
  /** As `send`, all at once. Resolves with the ids that must be sent one by one, because the bucket takes all or none. */
  readonly sendMany: (ids: readonly string[]) => Promise<readonly string[]>;
  /** The first failure since the last success. */
  readonly onFailing: (error: unknown, waiting: number) => void;
  /** The first success since `onFailing`. */
  readonly onRecovered: () => void;
};

export class KeySender {
  readonly counters = { failures: 0 };
  readonly #options: SenderOptions;
  /** In order of their turn. */
  readonly #waiting = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  /** Ids that changed again while they are under way. */
  readonly #again = new Set<string>();
  /** Ids that are sent one by one after a batch with them was refused. */
  readonly #alone = new Set<string>();
  #isBatchUnderWay = false;
  /** Ids that wait for `#laterTimer`. */
  readonly #later = new Set<string>();
  #laterTimer: NodeJS.Timeout | undefined;
  #failuresInRow = 0;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Ids that are not known to be in the bucket as they are here. */
  get waitingCount(): number {
    return this.#waiting.size + this.#underWay.size + this.#later.size;
  }

  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  offer(id: string): void {
    if (this.#isClosed) return;
    this.#later.delete(id);
    if (this.#underWay.has(id)) this.#again.add(id);
    else this.#waiting.add(id);
    this.#pump();
  }

  /** Tries an id again after a while. */
  offerLater(id: string): void {
    if (this.#isClosed || this.#underWay.has(id) || this.#waiting.has(id)) return;
    this.#later.add(id);
    this.#laterTimer ??= setTimeout(() => {
      this.#laterTimer = undefined;
      for (const waited of this.#later) this.#waiting.add(waited);
      this.#later.clear();
      this.#pump();
    }, laterMs);
  }

  /** Ends the wait after a failure: the bucket answers again. */
  resume(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#pump();
  }

  /** Waits for what is under way. The rest is sent after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    clearTimeout(this.#laterTimer);
    await Promise.all(this.#underWay.values());
  }

  #pump(): void {
    if (this.#pause !== undefined || this.#isClosed) return;
    if (this.#waiting.size - this.#alone.size >= keyBatch.idsMin) this.#startBatch();
    for (const id of this.#waiting) {
      if (this.#underWay.size >= keyPutsUnderWayMax) return;
      this.#waiting.delete(id);
      this.#underWay.set(id, this.#send(id));
    }
  }

  #startBatch(): void {
    if (this.#isBatchUnderWay) return;
    const ids: string[] = [];
    for (const id of this.#waiting) {
      if (ids.length >= keyBatch.idsMax) break;
      if (!this.#alone.has(id)) ids.push(id);
    }
    this.#isBatchUnderWay = true;
    const sending = this.#sendMany(ids);
    for (const id of ids) {
      this.#waiting.delete(id);
      this.#underWay.set(id, sending);
    }
  }

  async #sendMany(ids: readonly string[]): Promise<void> {
    try {
      await Promise.resolve();
      for (const id of await this.#options.sendMany(ids)) {
        this.#alone.add(id);
        this.#again.add(id);
      }
      this.#noteSuccess();
    } catch (error) {
      for (const id of ids) this.#again.add(id);
      this.#noteFailure(error);
    }
    this.#isBatchUnderWay = false;
    for (const id of ids) this.#end(id);
    this.#pump();
  }

  async #send(id: string): Promise<void> {
    let isLate = false;
    try {
      // The map of what is under way must hold the id before it can be removed.
      await Promise.resolve();
      const outcome = await this.#options.send(id);
      if (outcome === "sent") this.#noteSuccess();
      isLate = outcome === "later";
      this.#alone.delete(id);
    } catch (error) {
      this.#again.add(id);
      this.#noteFailure(error);
    }
    this.#end(id);
    if (isLate) this.offerLater(id);
    this.#pump();
  }

  #end(id: string): void {
    this.#underWay.delete(id);
    if (this.#again.delete(id)) this.#waiting.add(id);
  }

  #noteSuccess(): void {
    if (this.#failuresInRow > 0) this.#options.onRecovered();
    this.#failuresInRow = 0;
  }

  #noteFailure(error: unknown): void {
    this.counters.failures += 1;
    if (this.#failuresInRow === 0) this.#options.onFailing(error, this.waitingCount);
    if (this.#pause !== undefined || this.#isClosed) return;
    this.#failuresInRow += 1;
    const { first, longest } = keyPutRetryMs;
    const longestMs = Math.min(longest, first * 2 ** Math.min(this.#failuresInRow - 1, 10));
    this.#pause = setTimeout(() => this.resume(), longestMs * (0.5 + Math.random() / 2));
  }
}
