/**
 * Follows a published job to its end: each return as it comes, then the silent minions.
 * Source: docs/protocol.md section 11.3; docs/compatibility.md, "Life of a job", says what the command shows.
 */

import { hasCode, SaltworksError } from "../errors.ts";
import { decode } from "../wire/msgpack.ts";
import { highestRetcode } from "../wire/return.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import type { FeedItem, JobEnd, JobFeed } from "./job-feed.ts";
import type { Published } from "./job-request.ts";

/**
 * `retcode`: of several functions the highest. `outputter`: the one that the minion names for its value.
 * `silent` minions were expected to return. `unknown` ids are in the target list but have no accepted key. `detail`: the master's reason.
 */
export type JobEvent =
  | {
      readonly kind: "return";
      readonly id: string;
      readonly value: Value;
      readonly retcode: number;
      readonly outputter: string | undefined;
    }
  | { readonly kind: "silent"; readonly id: string; readonly reason: string; readonly detail?: string }
  | { readonly kind: "unknown"; readonly id: string; readonly detail?: string };

export type JobLookup = {
  /** Whole loads of returns by minion id. Undefined if the master refuses, for example because they are too large for one reply. */
  readonly returns: (jid: string, ids: readonly string[]) => Promise<ValueMap | undefined>;
  /** How the job has ended: "running" if it has not, "unknown" if the master has forgotten it. */
  readonly end: (jid: string) => Promise<JobEnd | "running" | "unknown">;
};

/** Returns that one request reads from the store. All must fit into one reply; most returns are small. */
const storedReturnsAtOnce = 50;
/** The master's replacement for a value that made an event too large. */
const trimmedMark = Buffer.from("VALUE_TRIMMED");

export class RunningJob implements Published {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
  readonly reasons: ReadonlyMap<string, string>;
  readonly waitsUntilMs: number | undefined;
  readonly mayGrow: boolean;
  readonly #feed: JobFeed;
  readonly #reader: JobLookup;
  #mayLook = true;

  constructor(published: Published, feed: JobFeed, reader: JobLookup) {
    this.jid = published.jid;
    this.minions = published.minions;
    this.missing = published.missing;
    this.reasons = published.reasons;
    this.waitsUntilMs = published.waitsUntilMs;
    this.mayGrow = published.mayGrow;
    this.#feed = feed;
    this.#reader = reader;
  }

  /**
   * The job's events. Iterate once: to the end or until `close`.
   *
   * @throws SaltworksError MASTER_UNREACHABLE if the master stops meanwhile, CHANNEL_CLOSED after `close`
   */
  async *events(): AsyncGenerator<JobEvent, void, void> {
    const outstanding = new Set(this.minions);
    const unknown = new Set(this.missing);
    const seen = new Set<string>();
    let silent: ReadonlyMap<string, string> = new Map();
    const reasons = new Map(this.reasons);
    while (outstanding.size > 0 || this.mayGrow) {
      const heard = await this.#feed.next();
      const item = heard.kind === "silence" ? await this.#look(outstanding) : heard;
      if (item === undefined) continue;
      if (item.kind === "expected") {
        for (const id of item.minions) if (!seen.has(id)) outstanding.add(id);
        for (const id of item.missing) unknown.add(id);
      } else if (item.kind === "return") {
        if (seen.has(item.id)) continue;
        seen.add(item.id);
        outstanding.delete(item.id);
        yield await this.#readReturn(item);
      } else {
        yield* this.#readLost(item.returned.filter((id) => !seen.has(id)));
        for (const id of item.returned) seen.add(id);
        silent = item.silent;
        for (const [id, reason] of item.reasons) reasons.set(id, reason);
        break;
      }
    }
    const detailOf = (id: string) => {
      const detail = reasons.get(id);
      return detail === undefined ? {} : { detail };
    };
    for (const [id, reason] of silent) if (!seen.has(id)) yield { kind: "silent", id, reason, ...detailOf(id) };
    for (const id of unknown) if (!seen.has(id) && id !== "") yield { kind: "unknown", id, ...detailOf(id) };
  }

  /** Calls `listener` with the number of states that minions with `state_events` have reported: at once and after each state. */
  onState(listener: (count: number) => void): void {
    this.#feed.onState = () => listener(this.#feed.stateCount);
    listener(this.#feed.stateCount);
  }

  close(): void {
    this.#feed.close();
  }

  /** Asks the master whether the job is over: a client that does not read for a while loses events, perhaps the job's last one. */
  async #look(outstanding: ReadonlySet<string>): Promise<JobEnd | undefined> {
    if (!this.#mayLook) return undefined;
    let end: JobEnd | "running" | "unknown";
    try {
      end = await this.#reader.end(this.jid);
    } catch (error) {
      // The next silence asks again, and the event may still arrive. If the master stops, the event bus closes.
      if (!(error instanceof SaltworksError) || error.code === "CHANNEL_CLOSED") throw error;
      // A refused login is not tried again, because a password may be valid only once.
      if (hasCode(error, "AUTH_FAILED")) this.#mayLook = false;
      return undefined;
    }
    if (end === "running") return undefined;
    if (end !== "unknown") return end;
    const silent = new Map([...outstanding].map((id) => [id, "No response"]));
    const returned: string[] = [];
    for (const part of partsOf([...outstanding])) returned.push(...(await this.#stored(part)).keys());
    for (const id of returned) silent.delete(id);
    return { kind: "done", returned, silent, reasons: new Map() };
  }

  /** Returns whose events were lost. */
  async *#readLost(ids: readonly string[]): AsyncGenerator<JobEvent, void, void> {
    for (const part of partsOf(ids)) {
      const stored = await this.#stored(part);
      for (const id of part) {
        const fields = stored.get(id);
        yield fields === undefined ? lostReturn(id) : toEvent(id, fields);
      }
    }
  }

  /** Reads stored returns: one at a time if all together are too large for one reply. */
  async #stored(ids: readonly string[]): Promise<Map<string, ValueMap>> {
    const stored = new Map<string, ValueMap>();
    const together = await this.#reader.returns(this.jid, ids);
    for (const id of ids) {
      const isAlone = together === undefined && ids.length > 1;
      const fields = (isAlone ? await this.#reader.returns(this.jid, [id]) : together)?.get(id);
      if (fields instanceof Map) stored.set(id, fields);
    }
    return stored;
  }

  /** Reads a return from its event, or from the store if the event was cut or lost. */
  async #readReturn(item: Pick<FeedItem & { kind: "return" }, "id" | "data">): Promise<JobEvent> {
    const { id, data } = item;
    const isWhole = data !== undefined && !Buffer.from(data.buffer, data.byteOffset, data.length).includes(trimmedMark);
    const stored = isWhole ? undefined : (await this.#stored([id])).get(id);
    const fields = stored ?? (data === undefined ? undefined : decode(data));
    return fields instanceof Map ? toEvent(id, fields) : lostReturn(id);
  }
}

function* partsOf(ids: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < ids.length; start += storedReturnsAtOnce)
    yield ids.slice(start, start + storedReturnsAtOnce);
}

/** The event of a return's load. */
export function toEvent(id: string, fields: ValueMap): Extract<JobEvent, { kind: "return" }> {
  const outputter = fields.get("out");
  return {
    kind: "return",
    id,
    value: fields.get("return") ?? null,
    retcode: highestRetcode(fields.get("retcode")),
    outputter: typeof outputter === "string" && outputter !== "" ? outputter : undefined,
  };
}

/**
 * A return whose event was dropped or lost. The job cache does not hold it either, because of `job_cache: False`, `nocache` or an external job cache.
 */
export function lostReturn(id: string): Extract<JobEvent, { kind: "return" }> {
  const value =
    "The minion has returned, but what it returned is not known here: its event did not reach this command, and the job cache does not hold it.";
  return { kind: "return", id, value, retcode: 1, outputter: "no_return" };
}
