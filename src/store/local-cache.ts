/**
 * Keeps Salt's `local_cache` layout beside the real store: fed after the acknowledgement, within a second, never in its way.
 * When it cannot keep up it drops, counts and says so: the store has everything. Source: docs/protocol.md section 11.4.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { localCacheQueueBytesMax } from "../limits.ts";
import { jidAt, startTimeText } from "../wire/jid.ts";
import { replaceFile } from "./durable-file.ts";
import type { LoadRecord, ReturnRecord } from "./job-cache.ts";
import { LocalCache, type LocalCacheOptions, writeLoadFiles } from "./local-cache-driver.ts";
import { endTimeFile, jobDirectory, loadFile } from "./local-cache-files.ts";

export { type LocalCacheOptions, openLocalCache } from "./local-cache-driver.ts";

const fileMode = 0o640;
/** Returns written per turn of the event loop: some milliseconds, so that the thread's real work goes on. */
const writesPerTurn = 16;
/** Jobs whose load is known to be there, so that not every return looks. */
const knownJobsMax = 1_024;

export type MirrorOptions = LocalCacheOptions & {
  /** Where the load of a job is found that was not published (`salt-call`, start-up states). */
  readonly getLoad?: (jid: string) => LoadRecord | undefined;
  /** Note when each job's last return came. */
  readonly storesEndTime?: boolean;
  readonly queueBytesMax?: number;
  /** Gets each failure; writing goes on with the next return. */
  readonly onError?: (error: unknown) => void;
};

export type MirrorCounters = {
  readonly written: number;
  readonly duplicates: number;
  /** For lack of room in the queue. */
  readonly dropped: number;
  readonly failed: number;
};

export interface LocalCacheMirror {
  readonly counters: MirrorCounters;
  readonly queuedBytes: number;
  /** Takes a copy. @returns false if the queue is full and the return is left out */
  offerReturn(record: ReturnRecord): boolean;
  /** At once: Salt's command line reads it as soon as the publish is answered. @throws SaltworksError STORE_FAILED */
  writeLoad(record: LoadRecord): void;
  /** Resolves when everything offered has been written or has failed. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

class QueuedMirror implements LocalCacheMirror {
  readonly counters = { written: 0, duplicates: 0, dropped: 0, failed: 0 };
  readonly #o: MirrorOptions;
  readonly #cache: LocalCache;
  readonly #queueBytesMax: number;
  readonly #knownJobs = new Set<string>();
  #queue: ReturnRecord[] = [];
  /** Index of the first record that still waits. */
  #head = 0;
  #queuedBytes = 0;
  #draining: Promise<void> | undefined;

  constructor(o: MirrorOptions) {
    this.#o = o;
    this.#cache = new LocalCache(o);
    this.#queueBytesMax = o.queueBytesMax ?? localCacheQueueBytesMax;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  offerReturn(record: ReturnRecord): boolean {
    const bytes = record.body.byteLength;
    if (this.#queuedBytes + bytes > this.#queueBytesMax) {
      this.counters.dropped += 1;
      return false;
    }
    this.#queuedBytes += bytes;
    this.#queue.push({ ...record, body: Uint8Array.from(record.body) });
    this.#draining ??= this.#drain();
    return true;
  }

  writeLoad(record: LoadRecord): void {
    writeLoadFiles(this.#o, record);
    this.#know(record.jid);
  }

  async drain(): Promise<void> {
    await this.#draining;
  }

  async close(): Promise<void> {
    await this.drain();
    await this.#cache.close();
  }

  async #drain(): Promise<void> {
    while (this.#head < this.#queue.length) {
      // Leaves the turn in which the returns were offered: their replies go first.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const turn = this.#queue.slice(this.#head, this.#head + writesPerTurn);
      this.#head += turn.length;
      for (const record of turn) {
        await this.#write(record);
        this.#queuedBytes -= record.body.byteLength;
      }
      // Written records are let go when they are half of the list: never a copy per turn.
      if (this.#head * 2 >= this.#queue.length) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
    }
    this.#draining = undefined;
  }

  async #write(record: ReturnRecord): Promise<void> {
    try {
      this.#ensureLoad(record.jid);
      const [outcome] = await this.#cache.putReturns([record]);
      if (outcome === "duplicate") {
        this.counters.duplicates += 1;
        return;
      }
      this.counters.written += 1;
      if (this.#o.storesEndTime) this.#writeEndTime(record.jid);
    } catch (error) {
      this.counters.failed += 1;
      this.#o.onError?.(error);
    }
  }

  #ensureLoad(jid: string): void {
    if (this.#knownJobs.has(jid)) return;
    const isThere = existsSync(join(jobDirectory(this.#o.cachedir, this.#o.hashType, jid), loadFile));
    const load = isThere ? undefined : this.#o.getLoad?.(jid);
    if (load !== undefined) writeLoadFiles(this.#o, load);
    if (isThere || load !== undefined) this.#know(jid);
  }

  #writeEndTime(jid: string): void {
    const path = join(jobDirectory(this.#o.cachedir, this.#o.hashType, jid), endTimeFile);
    replaceFile(path, startTimeText(jidAt(Date.now(), 0)), fileMode);
  }

  #know(jid: string): void {
    if (this.#knownJobs.size >= knownJobsMax) this.#knownJobs.clear();
    this.#knownJobs.add(jid);
  }
}

export function openLocalCacheMirror(o: MirrorOptions): LocalCacheMirror {
  return new QueuedMirror(o);
}
