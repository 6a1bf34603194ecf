/**
 * Sends the log of a batch job to the cluster, part by part. Each part has a number, and the bucket takes each number once. So of two members that
 * believe to be the owner only one can go on.
 */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../errors.ts";
import { clusterRetryMs, sharedLogPartBytesMax } from "../../limits.ts";

export type LogSenderOptions = {
  readonly jid: string;
  /** Number of the next part, and where its bytes begin in the log. */
  readonly next: number;
  readonly offset: number;
  /**
   * Writes a part. False if another owner has written one of that number.
   *
   * @throws if the cluster does not confirm it; it may have it all the same
   */
  readonly put: (number: number, offset: number, bytes: Uint8Array) => Promise<boolean>;
  readonly onLost: () => void;
  readonly onFault: (error: unknown) => void;
};

type Waiter = { readonly end: number; readonly resolve: () => void; readonly reject: (error: Error) => void };

export class LogSender {
  readonly #options: LogSenderOptions;
  readonly #ending = new AbortController();
  /** Bytes that are not confirmed. A batch job writes a few lines for each of its minions, so that these bound it. */
  #waiting: Buffer[] = [];
  #number: number;
  #confirmed: number;
  #end: number;
  #waiters: Waiter[] = [];
  #isSending = false;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: LogSenderOptions) {
    this.#options = options;
    this.#number = options.next;
    this.#confirmed = options.offset;
    this.#end = options.offset;
  }

  /** Whether the cluster has confirmed nothing of the log. It may have something all the same. */
  get isUnknown(): boolean {
    return this.#confirmed === 0;
  }

  add(bytes: Buffer): void {
    if (this.#ending.signal.aborted) return;
    this.#waiting.push(bytes);
    this.#end += bytes.byteLength;
    if (!this.#isSending) this.#sending = this.#send();
  }

  /** Resolves when the cluster has all that was added. @throws SaltworksError CLUSTER_UNAVAILABLE if this member is not the owner any more */
  async synced(): Promise<void> {
    if (this.#confirmed >= this.#end) return;
    if (this.#ending.signal.aborted) throw lost(this.#options.jid);
    await new Promise<void>((resolve, reject) => this.#waiters.push({ end: this.#end, resolve, reject }));
  }

  /** Resolves when nothing is on its way any more. */
  async drained(): Promise<void> {
    while (this.#isSending) await this.#sending;
  }

  /** Gives up what is not confirmed. */
  abort(): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.#waiting = [];
    for (const { reject } of this.#waiters.splice(0)) reject(lost(this.#options.jid));
  }

  async #send(): Promise<void> {
    const { signal } = this.#ending;
    this.#isSending = true;
    while (this.#waiting.length > 0 && !signal.aborted) {
      const bytes = this.#nextPart();
      if (!(await this.#untilWritten(bytes))) break;
      this.#number += 1;
      this.#confirmed += bytes.byteLength;
      const isDone = ({ end }: Waiter) => end <= this.#confirmed;
      const done = this.#waiters.filter(isDone);
      this.#waiters = this.#waiters.filter((one) => !isDone(one));
      for (const { resolve } of done) resolve();
    }
    this.#isSending = false;
  }

  /** Tries the same part until it is written. @returns false if another member is the owner */
  async #untilWritten(bytes: Buffer): Promise<boolean> {
    const { signal } = this.#ending;
    const { put, onLost, onFault } = this.#options;
    while (!signal.aborted) {
      try {
        const isWritten = await put(this.#number, this.#confirmed, bytes);
        if (signal.aborted) break;
        if (isWritten) return true;
        this.abort();
        onLost();
      } catch (error) {
        onFault(error);
        await pause(clusterRetryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  /** Takes from the front. The line of a large batch job's minions takes several parts. */
  #nextPart(): Buffer {
    const all = Buffer.concat(this.#waiting);
    const part = all.subarray(0, sharedLogPartBytesMax);
    this.#waiting = part.byteLength < all.byteLength ? [all.subarray(part.byteLength)] : [];
    return part;
  }
}

function lost(jid: string): SaltworksError {
  return new SaltworksError("CLUSTER_UNAVAILABLE", `this member does not own the batch job ${jid} any more`, { jid });
}
