/** Jobs of the cluster that this member's store refused, as while its disk is full: they wait in memory and are stored later. */
import type { Logger } from "pino";
import { within } from "../../deadline.ts";
import { hasCode } from "../../errors.ts";
import { refusedLoadsBytesMax, refusedLoadsEndMs, refusedLoadTriesMax, refusedPartsRetryMs } from "../../limits.ts";
import { TextList } from "../../wire/text-list.ts";

export type StoredLoad = {
  readonly jid: string;
  readonly load: Uint8Array;
  readonly minions: TextList;
  readonly missing: readonly string[];
  readonly isReturnless: boolean;
};

export type RefusedLoadsOptions = {
  readonly store: (stored: StoredLoad) => Promise<void>;
  readonly logger: Pick<Logger, "error" | "info">;
};

type Waiting = {
  readonly stored: StoredLoad;
  readonly bytes: number;
  readonly onEnd: () => void;
  /** That failed for another reason than the store's refusal. */
  tries: number;
};

export class RefusedLoads {
  readonly #options: RefusedLoadsOptions;
  /** Oldest first. */
  readonly #waiting = new Set<Waiting>();
  #bytes = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> | undefined;
  /** It plans no further try. */
  #isClosing = false;
  /** What fails now says nothing about the job, because the workers end. */
  #isClosed = false;

  constructor(options: RefusedLoadsOptions) {
    this.#options = options;
  }

  /** Jobs that were given up. */
  get lost(): number {
    return this.#lost;
  }

  /**
   * Keeps a copy. Over `refusedLoadsBytesMax` this member's job cache does not get the job.
   *
   * @returns undefined if the job is given up; otherwise what resolves when it is stored or given up, and never if the master ends before
   */
  add(stored: StoredLoad, err: unknown): Promise<void> | undefined {
    const minions = TextList.ofPacked(stored.minions.count, Buffer.concat(stored.minions.packed.pieces));
    const kept = { ...stored, load: Buffer.from(stored.load), minions };
    const bytes = kept.load.byteLength + Buffer.concat(minions.packed.pieces).byteLength;
    const isKept = this.#bytes + bytes <= refusedLoadsBytesMax;
    const text = "a job of the cluster could not be stored";
    this.#options.logger.error({ err, jid: stored.jid }, isKept ? `${text}: tries again` : `${text}, and many wait`);
    if (!isKept) {
      this.#lost += 1;
      return undefined;
    }
    this.#bytes += bytes;
    this.#plan();
    return new Promise((onEnd) => {
      this.#waiting.add({ stored: kept, bytes, onEnd, tries: 0 });
    });
  }

  /** Tries once more. Takes `refusedLoadsEndMs` at most. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const last = async () => {
      await this.#storing;
      if (this.#waiting.size > 0) await this.#storeAll();
    };
    await within(last(), refusedLoadsEndMs, () => undefined);
    this.#isClosed = true;
    const { size: count } = this.#waiting;
    const text = "jobs of the cluster are not stored: this member reads them again after its next start";
    if (count > 0) this.#options.logger.error({ count }, text);
  }

  #plan(): void {
    if (this.#isClosing) return;
    this.#timer ??= setTimeout(() => {
      this.#storing = this.#storeAll().finally(() => {
        this.#timer = undefined;
        this.#storing = undefined;
        if (this.#waiting.size > 0) this.#plan();
      });
    }, refusedPartsRetryMs).unref();
  }

  async #storeAll(): Promise<void> {
    let count = 0;
    let fault: unknown;
    for (const one of this.#waiting) {
      try {
        await this.#options.store(one.stored);
        count += 1;
      } catch (error) {
        // `add` has said that the disk is full.
        if (this.#isClosed || hasCode(error, "STORE_FAILED")) break;
        fault ??= error;
        one.tries += 1;
        if (one.tries < refusedLoadTriesMax) continue;
        this.#giveUp(one, error);
      }
      this.#waiting.delete(one);
      this.#bytes -= one.bytes;
      one.onEnd();
    }
    const { logger } = this.#options;
    if (fault !== undefined) logger.error({ err: fault }, "jobs of the cluster could not be stored again");
    if (count > 0) logger.info({ count }, "jobs of the cluster that could not be stored are stored");
  }

  #giveUp({ stored: { jid } }: Waiting, err: unknown): void {
    this.#lost += 1;
    const text = "a job of the cluster is given up: this member's job cache does not get it";
    this.#options.logger.error({ err, jid }, text);
  }
}
