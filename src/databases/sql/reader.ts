/** Reads jobs and returns from Salt's tables, page by page. Another program may have written them. A driver asks the questions in its SQL. */
import { compareNewestFirst, hasFacts, isInRange, type JobQuery, readJobFacts } from "../../store/jobs/facts.ts";
import { FilledPage } from "../../store/jobs/filled-page.ts";
import { compareIds, type LoadRecord, type ReturnPage, type ReturnsFound } from "../../store/jobs/job-cache.ts";
import { isJid } from "../../wire/jid.ts";
import type { DatabaseReader } from "../contract/database.ts";
import { bodyOf } from "../contract/rows.ts";

/** Jobs that a search reads at a time. */
const databaseSearchPage = 500;
/** Returns that are read together. Each may be as large as its column holds. */
const bodiesAtOnce = 16;

/** Above every job id that is a time, and beneath every other id with a letter, in all collations. */
export const afterTimes = "99999999999999999999";

/** A job with its request as JSON. */
export type StoredJob = { readonly jid: string; readonly load: string };

/** A collation may take two texts for one, so an answer may have rows that were not asked for. */
export interface SqlQueries {
  jobs(jid: string): Promise<readonly StoredJob[]>;
  /** Whole returns as JSON, the first row of a minion first. */
  bodies(jid: string, ids: readonly string[]): Promise<readonly StoredBody[]>;
  /** The minions that returned a job, each once. */
  returned(jid: string): Promise<readonly Returned[]>;
  /** The last `limit` jobs with from <= jid < below, the last first. */
  jobsBelow(below: string, from: string, limit: number): Promise<readonly StoredJob[]>;
  /** Jobs whose ids are before "0" or after `after`. */
  jobsAround(after: string, limit: number): Promise<readonly StoredJob[]>;
  /** The first `limit` job ids after `after` of each table, in the database's order. */
  jidsAfter(after: string, limit: number): Promise<readonly JidOf[]>;
  /** The server's estimate of the number of jobs. */
  jobCount(): Promise<number | undefined>;
}
export type JidOf = { readonly table: "jids" | "salt_returns"; readonly jid: string };
export type Returned = { readonly jid: string; readonly id: string };
export type StoredBody = Returned & { readonly body: string };

export class SqlReader implements DatabaseReader {
  readonly #queries: SqlQueries;

  constructor(queries: SqlQueries) {
    this.#queries = queries;
  }

  async job(jid: string): Promise<LoadRecord | undefined> {
    const load = await this.request(jid);
    return load === undefined ? undefined : { jid, load, minions: [] };
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    const row = (await this.#queries.jobs(jid)).find((each) => each.jid === jid);
    return row === undefined ? undefined : bodyOf(row.load);
  }

  /** Reads the ids first, then a few returns at a time, because a page of large returns would not fit into memory. */
  async returns(jid: string, page: ReturnPage): Promise<ReturnsFound> {
    const filled = new FilledPage(page);
    const asked = page.of === undefined ? undefined : new Set(page.of);
    const ids = (await this.#returnedIds(jid)).filter(
      (id) => (page.after === undefined || compareIds(id, page.after) > 0) && (asked === undefined || asked.has(id)),
    );
    for (let at = 0; at < ids.length; at += bodiesAtOnce) {
      const part = ids.slice(at, at + bodiesAtOnce);
      const bodies = await this.#bodies(jid, part);
      for (const id of part) {
        if (filled.isFull) return { returns: filled.returns, hasMore: true };
        const body = bodies.get(id);
        if (body !== undefined) filled.add({ minionId: id, body });
      }
    }
    return { returns: filled.returns, hasMore: false };
  }

  /** Of several rows of a minion the first counts. */
  async returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    return (await this.#bodies(jid, [minionId])).get(minionId);
  }

  /** The tables do not keep it. */
  async endTime(): Promise<string | undefined> {
    return undefined;
  }

  /** A job id that begins with digits and is not a time is not found here. */
  async find(query: JobQuery): Promise<string[]> {
    const found: string[] = [];
    const { before } = query;
    const take = (rows: readonly StoredJob[]) => {
      for (const { jid, load } of rows) {
        if (found.length >= query.limit) return;
        if (isInRange(jid, query) && matches(load, query)) found.push(jid);
      }
    };
    if (before === undefined || isJid(before)) await this.#eachTime(query, take, () => found.length >= query.limit);
    if (found.length < query.limit && query.from === undefined && query.until === undefined) {
      // Jobs with ids that users gave. There are few of them.
      const others = await this.#queries.jobsAround(afterTimes, databaseSearchPage);
      take(others.filter(({ jid }) => !isJid(jid)).sort((a, b) => compareNewestFirst(a.jid, b.jid)));
    }
    return found;
  }

  /** Reads index entries of both tables. A page ends where one of them may have more. */
  async jids({ after = "", limit }: { readonly after: string | undefined; readonly limit: number }): Promise<string[]> {
    const left = { jids: limit, salt_returns: limit };
    const found = new Set<string>();
    for (const { table, jid } of await this.#queries.jidsAfter(after, limit)) {
      found.add(jid);
      left[table] -= 1;
      if (left[table] === 0) break;
    }
    return [...found];
  }

  async jobCount(): Promise<number | undefined> {
    return await this.#queries.jobCount();
  }

  async #bodies(jid: string, ids: readonly string[]): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    for (const row of await this.#queries.bodies(jid, ids))
      if (row.jid === jid && !found.has(row.id)) found.set(row.id, bodyOf(row.body));
    return found;
  }

  async #returnedIds(jid: string): Promise<string[]> {
    const rows = await this.#queries.returned(jid);
    return [...new Set(rows.filter((row) => row.jid === jid).map(({ id }) => id))].sort(compareIds);
  }

  async #eachTime(
    { before, from = "0", until }: JobQuery,
    take: (rows: readonly StoredJob[]) => void,
    isDone: () => boolean,
  ): Promise<void> {
    let below =
      [before, until === undefined ? undefined : String(BigInt(until) + 1n)]
        .filter((bound) => bound !== undefined)
        .sort()[0] ?? afterTimes;
    for (;;) {
      const rows = await this.#queries.jobsBelow(below, from, databaseSearchPage);
      take(rows.filter(({ jid }) => isJid(jid)));
      const last = rows.at(-1);
      if (rows.length < databaseSearchPage || last === undefined || isDone()) return;
      below = last.jid;
    }
  }
}

function matches(load: string, query: JobQuery): boolean {
  return hasFacts(readJobFacts(bodyOf(load)), query);
}
