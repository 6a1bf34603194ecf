/** Jobs of the cluster that this member's store refused, as while its disk is full: they wait in memory and are stored later. */
import type { Logger } from "pino";
import { refusedLoadsBytesMax, refusedPartsRetryMs } from "../../limits.ts";
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

type Waiting = { readonly stored: StoredLoad; readonly bytes: number };

export class RefusedLoads {
  readonly #options: RefusedLoadsOptions;
  /** Oldest first. */
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RefusedLoadsOptions) {
    this.#options = options;
  }

  /** Keeps a copy. Over `refusedLoadsBytesMax` this member's job cache does not get the job. */
  add(stored: StoredLoad, err: unknown): void {
    const minions = TextList.ofPacked(stored.minions.count, Buffer.concat(stored.minions.packed.pieces));
    const kept = { ...stored, load: Buffer.from(stored.load), minions };
    const bytes = kept.load.byteLength + Buffer.concat(minions.packed.pieces).byteLength;
    const isKept = this.#bytes + bytes <= refusedLoadsBytesMax;
    const text = "a job of the cluster could not be stored";
    this.#options.logger.error({ err, jid: stored.jid }, isKept ? `${text}: tries again` : `${text}, and many wait`);
    if (!isKept) return;
    this.#waiting.push({ stored: kept, bytes });
    this.#bytes += bytes;
    this.#plan();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => void this.#storeAll(), refusedPartsRetryMs).unref();
  }

  async #storeAll(): Promise<void> {
    let count = 0;
    try {
      for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
        await this.#options.store(first.stored);
        this.#waiting.shift();
        this.#bytes -= first.bytes;
        count += 1;
      }
    } catch {
      // `add` has said so. The disk is still full.
    }
    if (count > 0) this.#options.logger.info({ count }, "jobs of the cluster that could not be stored are stored");
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#plan();
  }
}
