/** A driver of the job cache that keeps jobs in memory. It has nothing but what the driver's contract asks for. */
import assert from "node:assert/strict";
import type { JobCacheDriver, OpenOptions } from "../../../src/store/drivers/contract/driver.ts";
import { compareNewestFirst, type JobQuery, searchOneByOne } from "../../../src/store/jobs/facts.ts";
import { FilledPage } from "../../../src/store/jobs/filled-page.ts";
import {
  compareIds,
  type JobCache,
  type ListOptions,
  type LoadRecord,
  type LoadToPut,
  type PutOutcome,
  type ReturnPage,
  type ReturnRecord,
  type ReturnsFound,
  type Trimmed,
  type TrimOptions,
} from "../../../src/store/jobs/job-cache.ts";
import type { KeyedReturn, KeyedReturns } from "../../../src/store/jobs/keyed-returns.ts";
import { isJid, jidAt } from "../../../src/wire/jid.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";

/** What outlasts the objects that are opened on it. */
class Kept {
  readonly loads = new Map<string, LoadRecord>();
  /** By job id, then by minion id. */
  readonly returns = new Map<string, Map<string, Buffer>>();
  readonly storedMs = new Map<string, number>();

  jids(): string[] {
    return [...this.loads.keys()].sort(compareNewestFirst);
  }

  isOlder(jid: string, olderThanJid: string): boolean {
    return (isJid(jid) ? jid : jidAt(this.storedMs.get(jid) ?? 0, 0)) < olderThanJid;
  }
}

function keyOf(jid: string, minionId: string): Buffer {
  return Buffer.from(JSON.stringify([jid, minionId]));
}

class MemoryJobCache implements JobCache {
  readonly #kept: Kept;
  readonly #onStored: OpenOptions["onStored"];

  constructor(kept: Kept, { onStored }: OpenOptions) {
    this.#kept = kept;
    this.#onStored = onStored;
  }

  async keepJobs(jobs: readonly LoadToPut[]): Promise<void> {
    for (const job of jobs) this.#keep(job);
  }

  async keepNewJob(jid: string, make: () => LoadToPut): Promise<void> {
    if (!this.#kept.loads.has(jid)) this.#keep(make());
  }

  async addMinions(jid: string, _syndic: string, minions: readonly string[]): Promise<void> {
    const load = this.#kept.loads.get(jid);
    if (load !== undefined)
      this.#kept.loads.set(jid, { ...load, minions: [...new Set([...load.minions, ...minions])] });
  }

  #keep(job: LoadToPut): void {
    if (job.isTakenOver === true && this.#kept.loads.has(job.jid)) return;
    const minions = decode(encode(job.minions, "bin")) as string[];
    this.#kept.loads.set(job.jid, { ...job, load: Buffer.from(job.load), minions });
    this.#kept.storedMs.set(job.jid, Date.now());
  }

  async keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    const stored: Buffer[] = [];
    const outcomes = batch.map(({ jid, minionId, body }): PutOutcome => {
      const present = this.#kept.returns.get(jid) ?? new Map<string, Buffer>();
      if (present.has(minionId)) return "duplicate";
      this.#kept.returns.set(jid, present.set(minionId, Buffer.from(body)));
      stored.push(keyOf(jid, minionId));
      return "stored";
    });
    this.#onStored?.(stored);
    return outcomes;
  }

  async whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return minionIds.filter((id) => this.#kept.returns.get(jid)?.has(id) === true);
  }

  async unkeptJobs(): Promise<string[]> {
    return [...this.#kept.loads.values()].filter(({ isNoCache }) => isNoCache === true).map(({ jid }) => jid);
  }

  /** Leaves out `keep`, which the contract suite does not ask for. */
  async trim({ olderThanJid, stepsMax }: TrimOptions): Promise<Trimmed> {
    let removed = 0;
    for (const jid of this.#kept.jids().filter((each) => this.#kept.isOlder(each, olderThanJid))) {
      const returns = this.#kept.returns.get(jid) ?? new Map<string, Buffer>();
      for (const id of [...returns.keys()].slice(0, stepsMax - removed)) removed += Number(returns.delete(id));
      if (removed < stepsMax) removed += Number(this.#kept.loads.delete(jid));
    }
    return { removed, hasMore: removed >= stepsMax, olderThanJid };
  }

  async close(): Promise<void> {}

  async job(jid: string): Promise<LoadRecord | undefined> {
    return this.#kept.loads.get(jid);
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    return this.#kept.loads.get(jid)?.load;
  }

  async returns(jid: string, page: ReturnPage): Promise<ReturnsFound> {
    const filled = new FilledPage(page);
    const wanted = page.of === undefined ? undefined : new Set(page.of);
    const all = [...(this.#kept.returns.get(jid) ?? [])].sort(([a], [b]) => compareIds(a, b));
    for (const [minionId, body] of all) {
      const isBefore = page.after !== undefined && compareIds(minionId, page.after) <= 0;
      if (isBefore || wanted?.has(minionId) === false) continue;
      if (filled.isFull) return { returns: filled.returns, hasMore: true };
      filled.add({ minionId, body });
    }
    return { returns: filled.returns, hasMore: false };
  }

  async returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    return this.#kept.returns.get(jid)?.get(minionId);
  }

  async endTime(): Promise<undefined> {
    return undefined;
  }

  async list({ newestFirst, limit, before }: ListOptions): Promise<string[]> {
    const jids = this.#kept.jids().filter((jid) => before === undefined || jid < before);
    return (newestFirst ? jids : jids.reverse()).slice(0, limit);
  }

  async find(query: JobQuery): Promise<string[]> {
    return searchOneByOne(this.#kept.jids(), (jid) => this.#kept.loads.get(jid)?.load, query);
  }
}

class MemoryKeyedReturns implements KeyedReturns {
  readonly #kept: Kept;

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  async refresh(): Promise<void> {}

  async at(returnKey: Buffer): Promise<KeyedReturn> {
    const [jid, minionId] = JSON.parse(returnKey.toString()) as [string, string];
    const body = this.#kept.returns.get(jid)?.get(minionId);
    return body === undefined ? "gone" : { jid, minionId, body };
  }

  async *newest({ limit, atOnce }: { limit: number; atOnce: number }): AsyncGenerator<readonly Buffer[], void> {
    const keys = [...this.#kept.returns].flatMap(([jid, returns]) => [...returns.keys()].map((id) => keyOf(jid, id)));
    for (let at = 0; at < Math.min(limit, keys.length); at += atOnce) yield keys.slice(at, at + atOnce);
  }

  async close(): Promise<void> {}
}

/** A driver with data of its own for each cache directory. */
export function memoryDriver(): JobCacheDriver {
  const all = new Map<string, Kept>();
  const keptIn = (cachedir: string): Kept => {
    const kept = all.get(cachedir) ?? new Kept();
    all.set(cachedir, kept);
    return kept;
  };
  return {
    cacheNames: [],
    place: () => "memory",
    open: ({ cachedir }, o) => new MemoryJobCache(keptIn(cachedir), o),
    prepare: async () => undefined,
    checks: () => [],
    openFeed: () => assert.fail("nothing is fed from memory"),
    openImport: () => assert.fail("nothing migrates into memory"),
    openWalk: () => assert.fail("nothing migrates from memory"),
    openKeyedReturns: ({ cachedir }) => new MemoryKeyedReturns(keptIn(cachedir)),
  };
}
