/** Reads a migration's jobs from Salt's files, in the order of their paths. */

import { compareIds } from "../../store/jobs/job-cache.ts";
import { SaltJobWalk, type WalkedJob } from "../../store/salt/walk-jobs.ts";
import type { Cursor, MigratedRecord, MigrationSource } from "./contract.ts";
import { LeftOutNotes } from "./left-out.ts";

export class SaltSource implements MigrationSource {
  readonly #walk: SaltJobWalk;
  readonly #notes = new LeftOutNotes();

  constructor(cachedir: string) {
    this.#walk = new SaltJobWalk(cachedir);
  }

  get place(): string {
    return this.#walk.place;
  }

  async check(): Promise<void> {
    this.#walk.check();
  }

  async jobCount(): Promise<number> {
    return this.#walk.jobCount();
  }

  async *records(from: Cursor | undefined): AsyncGenerator<MigratedRecord> {
    for (const path of this.#walk.paths(from?.job, this.#notes.add)) {
      const minion = path === from?.job ? from.minion : "";
      // The whole job has been read.
      if (minion === undefined) continue;
      const found = this.#walk.job(path, this.#notes.add);
      // A job of which a part is in the target has been told before.
      if (minion !== "") this.#notes.clear();
      if (found !== undefined) yield* this.#recordsOf(path, found, minion);
      else yield* this.#notes.told({ job: path });
      yield { item: { kind: "passed" }, cursor: { job: path } };
    }
  }

  async close(): Promise<void> {
    this.#notes.clear();
  }

  *#recordsOf(path: string, found: WalkedJob, after: string): Generator<MigratedRecord> {
    const { jid, job, end, minionIds } = found;
    if (after === "") {
      yield* this.#notes.told({ job: path, minion: "" });
      if (job !== undefined) yield { item: { kind: "job", job }, cursor: { job: path, minion: "" } };
    }
    for (const minionId of minionIds) {
      if (after !== "" && compareIds(minionId, after) <= 0) continue;
      const cursor = { job: path, minion: minionId };
      const one = this.#walk.returnOf(path, found, minionId, this.#notes.add);
      yield* this.#notes.told(cursor);
      if (one !== undefined) yield { item: { kind: "return", ...one }, cursor };
    }
    if (end !== undefined)
      yield { item: { kind: "end", jid, end }, cursor: { job: path, minion: minionIds.at(-1) ?? "" } };
  }
}
