/**
 * Copies all jobs of one job cache into another, batch by batch. After each batch a durable mark says how far it has come, so that a killed master
 * repeats only the batch that was under way. What the target has already is not written again.
 */
import { migrationBatchBytesMax, migrationNamedMax, migrationRowsMax, migrationStepMs } from "../../limits.ts";
import type { Cursor, LeftOut, MigratedItem, MigratedRecord, MigrationSource, MigrationTarget } from "./contract.ts";
import type { MarkFile, MigrationCounts, MigrationMark } from "./mark.ts";

/** `leftOut`: what this step left out, and why. `named`: of all steps the first. */
export type MigrationProgress = {
  readonly counts: Readonly<MigrationCounts>;
  readonly named: readonly string[];
  readonly leftOut: readonly string[];
  readonly total: number | undefined;
  readonly spentMs: number;
  readonly isResumed: boolean;
  readonly isDone: boolean;
};

export type MigrationParts = {
  readonly source: MigrationSource;
  readonly target: MigrationTarget;
  readonly mark: Pick<MarkFile, "read" | "write" | "remove">;
};

type Batch = { readonly items: MigratedItem[]; cursor: Cursor | undefined; isLast: boolean };

/** What an expected minion takes in memory. */
const minionIdBytes = 64;

export class Migration {
  readonly #parts: MigrationParts;
  readonly #places: MigrationMark["places"];
  readonly #isResumed: boolean;
  #counts: MigrationCounts;
  #named: readonly string[];
  readonly #total: number | undefined;
  #cursor: Cursor | undefined;
  #spentMs: number;
  #records: AsyncGenerator<MigratedRecord> | undefined;
  /** Read and not written yet. After a failure the next step writes it again. */
  #batch: Batch | undefined;
  #isDone = false;

  private constructor(parts: MigrationParts, mark: MigrationMark | undefined, total: number | undefined) {
    const { source, target } = parts;
    this.#parts = parts;
    this.#places = [source.place, target.place];
    this.#total = total;
    this.#isResumed = mark !== undefined;
    const counts = { passed: 0, jobs: 0, returns: 0, present: 0, leftOut: 0 };
    this.#cursor = mark?.cursor;
    this.#counts = mark?.counts ?? counts;
    this.#named = mark?.named ?? [];
    this.#spentMs = mark?.spentMs ?? 0;
  }

  /** Looks whether both are there. @throws SaltworksError DATABASE_FAILED, STORE_FAILED */
  static async open(parts: MigrationParts): Promise<Migration> {
    const { source, target, mark } = parts;
    await target.check();
    await source.check();
    return new Migration(parts, mark.read([source.place, target.place]), await source.jobCount());
  }

  progress(leftOut: readonly string[] = []): MigrationProgress {
    return {
      ...{ counts: this.#counts, named: this.#named, leftOut, total: this.#total },
      ...{ spentMs: this.#spentMs, isResumed: this.#isResumed, isDone: this.#isDone },
    };
  }

  /** Copies for `migrationStepMs`. The caller gets what was copied, also if the step then fails. */
  async step(onCopied: (leftOut: readonly string[]) => void): Promise<void> {
    const startMs = performance.now();
    const endMs = startMs + migrationStepMs;
    for (let fromMs = startMs; !this.#isDone && fromMs < endMs; ) {
      this.#batch ??= await this.#read(endMs);
      const texts = await this.#write(this.#batch, fromMs);
      const { isLast } = this.#batch;
      this.#batch = undefined;
      onCopied(texts);
      if (isLast) this.#end();
      fromMs = performance.now();
    }
  }

  #take({ cursor, counts, named, spentMs }: MigrationMark): void {
    this.#cursor = cursor;
    this.#counts = counts;
    this.#named = named;
    this.#spentMs = spentMs;
  }

  async close(): Promise<void> {
    await Promise.all([this.#parts.source.close(), this.#parts.target.close()]);
  }

  #end(): void {
    this.#parts.mark.remove();
    this.#isDone = true;
  }

  async #read(endMs: number): Promise<Batch> {
    const batch: Batch = { items: [], cursor: undefined, isLast: false };
    this.#records ??= this.#parts.source.records(this.#cursor);
    try {
      for (let bytes = 0; batch.items.length < migrationRowsMax && bytes < migrationBatchBytesMax; ) {
        const next = await this.#records.next();
        if (next.done === true) {
          batch.isLast = true;
          break;
        }
        const { item, cursor } = next.value;
        batch.items.push(item);
        batch.cursor = cursor;
        bytes += bytesOf(item);
        if (performance.now() >= endMs) break;
      }
    } catch (error) {
      // The next step reads again from the mark.
      this.#records = undefined;
      throw error;
    }
    return batch;
  }

  /** @returns what was left out */
  async #write({ items, cursor }: Batch, fromMs: number): Promise<readonly string[]> {
    const written = await this.#parts.target.write(items);
    const left = [...items.filter((item): item is LeftOut => item.kind === "leftOut"), ...written.refused];
    const texts = left.map(({ what, reason }) => `${what}: ${reason}`);
    const counts = this.#counts;
    const next: MigrationMark = {
      places: this.#places,
      cursor: cursor ?? this.#cursor,
      counts: {
        passed: counts.passed + items.filter(({ kind }) => kind === "passed").length,
        jobs: counts.jobs + written.jobs,
        returns: counts.returns + written.returns,
        present: counts.present + written.present,
        leftOut: counts.leftOut + left.length,
      },
      named: [...this.#named, ...texts].slice(0, migrationNamedMax),
      spentMs: this.#spentMs + performance.now() - fromMs,
    };
    this.#parts.mark.write(next);
    this.#take(next);
    return texts;
  }
}

function bytesOf(item: MigratedItem): number {
  if (item.kind === "return") return item.body.byteLength;
  return item.kind === "job" ? item.job.load.byteLength + item.job.minions.length * minionIdBytes : 0;
}
