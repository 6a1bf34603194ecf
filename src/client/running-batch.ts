/** Follows a batch job from its first entry to its last: earlier entries come from its log, new ones from the event bus. */
import { SaltworksError } from "../errors.ts";
import { batchLookMs } from "../limits.ts";
import type { BatchEntry } from "../wire/batch-options.ts";
import { boolField, intField, listField, mapField } from "../wire/fields.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import type { BatchFeed } from "./batch-feed.ts";
import { type JobEvent, lostReturn, toEvent } from "./running-job.ts";

export type MinionReturn = Extract<JobEvent, { kind: "return" }>;
/** A `new` entry has no `load` here. `returned`: the minion's return, for a `return` entry; `load`: the whole of it, if it is known. */
export type BatchEvent = {
  readonly entry: BatchEntry;
  readonly returned: MinionReturn | undefined;
  readonly load?: ValueMap;
};

export type BatchReader = {
  /** Reply of the wheel function `saltworks.batch`. */
  readonly page: (jid: string, offset: number) => Promise<ValueMap>;
  /** Whole loads of returns, by minion id. */
  readonly returns: (jid: string, ids: readonly string[]) => Promise<ValueMap | undefined>;
};

/** The master's replacement for a value that made an event too large. */
const trimmed = "VALUE_TRIMMED";

export class RunningBatch {
  readonly jid: string;
  readonly #feed: BatchFeed;
  readonly #reader: BatchReader;
  #offset = 0;

  /** `feed` follows this batch already. */
  constructor(jid: string, feed: BatchFeed, reader: BatchReader) {
    this.jid = jid;
    this.#feed = feed;
    this.#reader = reader;
  }

  /**
   * The batch's entries. Iterate once: to the end or until `close`.
   *
   * @throws SaltworksError MASTER_UNREACHABLE if the master stops meanwhile or does not run the batch, CHANNEL_CLOSED after `close`,
   * REQUEST_REFUSED if this batch does not exist
   */
  async *events(): AsyncGenerator<BatchEvent, void, void> {
    let isLooking = true;
    for (;;) {
      const told = this.#feed.shift();
      if (told === undefined && !isLooking) {
        const before = performance.now();
        await this.#feed.wait(batchLookMs);
        isLooking = performance.now() - before >= batchLookMs;
        continue;
      }
      const isNext = told !== undefined && intField(told, "offset") === this.#offset;
      const isKnown = told !== undefined && (intField(told, "end") ?? 0) <= this.#offset;
      if (isKnown) continue;
      const placed: ValueMap[] = isNext ? [told] : await this.#look();
      for (const fields of placed) {
        const event = await this.#read(fields);
        yield event;
        if (event.entry.kind === "done") return;
      }
      // After a gap the log is read until its end.
      isLooking = !isNext && placed.length > 0;
    }
  }

  close(): void {
    this.#feed.close();
  }

  async #look(): Promise<ValueMap[]> {
    const page = await this.#reader.page(this.jid, this.#offset);
    const entries = (listField(page, "entries") ?? []).filter((entry): entry is ValueMap => entry instanceof Map);
    if (entries.length === 0 && boolField(page, "isRunning") !== true)
      throw new SaltworksError(
        "MASTER_UNREACHABLE",
        `The batch ${this.jid} is not over, and the master does not run it: the master's log says why. The master continues it after its next start.`,
      );
    return entries;
  }

  async #read(fields: ValueMap): Promise<BatchEvent> {
    this.#offset = intField(fields, "end") ?? this.#offset;
    const entry = Object.fromEntries(fields) as unknown as BatchEntry;
    if (entry.kind !== "return") return { entry, returned: undefined };
    const load = await this.#load(entry.jid, entry.id, fields);
    return load === undefined
      ? { entry, returned: lostReturn(entry.id) }
      : { entry, returned: toEvent(entry.id, load), load };
  }

  async #load(jid: string, id: string, fields: ValueMap): Promise<ValueMap | undefined> {
    const body = mapField(fields, "body");
    if (body !== undefined && !isTrimmed(body.get("return"))) return body;
    const returns = await this.#reader.returns(jid, [id]);
    const stored = returns === undefined ? undefined : mapField(returns, id);
    return stored ?? body;
  }
}

/** The master replaces large values in place, at any depth. */
function isTrimmed(value: Value | undefined): boolean {
  if (value instanceof Map) return [...value.values()].some(isTrimmed);
  return Array.isArray(value) ? value.some(isTrimmed) : value === trimmed;
}

/** The exit code of a batch: the highest of its minions, but at least 1 if the batch was stopped. */
export function exitCodeOf(done: Extract<BatchEntry, { kind: "done" }>): number {
  return done.outcome === "finished" ? done.retcode : Math.max(1, done.retcode);
}

export function pageOf(value: Value): ValueMap {
  if (value instanceof Map) return value;
  throw new SaltworksError(
    "REQUEST_REFUSED",
    typeof value === "string" ? value : "the master's reply has an unknown form",
  );
}
