/** Reads a migration's jobs through a reader of the local store or of a database, in the order in which it lists job ids. */
import { hasCode } from "../../errors.ts";
import { migrationBatchBytesMax, migrationJidsAtOnce, migrationRowsMax } from "../../limits.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import { isJid, jidTime } from "../../wire/jid.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { DatabaseReader } from "../contract/database.ts";
import { isUnreadable } from "../contract/rows.ts";
import { type Cursor, jobName, leftOut, type MigratedRecord, type MigrationSource, returnName } from "./contract.ts";
import { LeftOutNotes } from "./left-out.ts";

export type ReaderParts = Pick<DatabaseReader, "jids" | "jobCount"> & {
  readonly place: string;
  readonly jobs: Pick<JobCacheReader, "job" | "returns" | "endTime">;
  readonly check: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export class ReaderSource implements MigrationSource {
  readonly #parts: ReaderParts;
  readonly #notes = new LeftOutNotes();

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  get place(): string {
    return this.#parts.place;
  }

  /** What the reader has left out of an answer. */
  readonly onLeftOut = (text: string): void => {
    this.#notes.add(this.place, text);
  };

  async check(): Promise<void> {
    await this.#parts.check();
  }

  async jobCount(): Promise<number | undefined> {
    return await this.#parts.jobCount();
  }

  async *records(from: Cursor | undefined): AsyncGenerator<MigratedRecord> {
    if (from?.minion !== undefined) yield* this.#recordsOf(from.job, from.minion);
    for (let after = from?.job; ; ) {
      const jids = await this.#parts.jids({ after, limit: migrationJidsAtOnce });
      if (jids.length === 0) return;
      for (const jid of jids) yield* this.#recordsOf(jid, "");
      after = jids.at(-1);
    }
  }

  async close(): Promise<void> {
    await this.#parts.close();
  }

  async *#recordsOf(jid: string, after: string): AsyncGenerator<MigratedRecord> {
    if (after === "") yield* this.#requestOf(jid);
    yield* this.#returnsOf(jid, after);
    const end = await this.#parts.jobs.endTime(jid);
    yield* this.#notes.told({ job: jid });
    if (end !== undefined) yield { item: { kind: "end", jid, end }, cursor: { job: jid } };
    yield { item: { kind: "passed" }, cursor: { job: jid } };
  }

  async *#requestOf(jid: string): AsyncGenerator<MigratedRecord> {
    const cursor = { job: jid, minion: "" };
    try {
      const found = await this.#parts.jobs.job(jid);
      yield* this.#notes.told(cursor);
      if (found === undefined) return;
      const { isTakenOver: _, ...job } = found;
      if (isUnreadable(job.load)) yield { item: leftOut(jobName(jid), "its request cannot be read"), cursor };
      else yield { item: { kind: "job", job }, cursor };
    } catch (error) {
      if (!hasCode(error, "STORE_DAMAGED")) throw error;
      yield { item: leftOut(jobName(jid), (error as Error).message), cursor };
    }
  }

  async *#returnsOf(jid: string, from: string): AsyncGenerator<MigratedRecord> {
    for (let after = from === "" ? undefined : from; ; ) {
      const page = { after, limit: migrationRowsMax, bytesMax: migrationBatchBytesMax };
      const { returns, hasMore } = await this.#parts.jobs.returns(jid, page);
      for (const { minionId, body } of returns) {
        const cursor = { job: jid, minion: minionId };
        if (isUnreadable(body)) yield { item: leftOut(returnName(jid, minionId), "it cannot be read"), cursor };
        else yield { item: { kind: "return", jid, minionId, body, atMs: timeOf(jid, body) }, cursor };
      }
      after = returns.at(-1)?.minionId ?? after;
      yield* this.#notes.told({ job: jid, minion: after ?? "" });
      if (!hasMore) return;
    }
  }
}

const stampField: ReadonlySet<string> = new Set(["_stamp"]);

/** When a return came. If it does not say it, the job's time counts. */
function timeOf(jid: string, body: Uint8Array): number | undefined {
  const stamp = pickEntries(body, stampField).get("_stamp");
  const stampMs = typeof stamp === "string" ? Date.parse(/[Zz+]/.test(stamp) ? stamp : `${stamp}Z`) : Number.NaN;
  if (Number.isFinite(stampMs)) return stampMs;
  return isJid(jid) ? jidTime(jid).getTime() : undefined;
}
