/** Reads jobs and returns from Salt's tables, page by page. Another program may have written them. */
import { compareNewestFirst, hasFacts, isInRange, type JobQuery, readJobFacts } from "../../store/jobs/facts.ts";
import { FilledPage } from "../../store/jobs/filled-page.ts";
import { compareIds, type LoadRecord, type ReturnPage, type ReturnsFound } from "../../store/jobs/job-cache.ts";
import { isJid } from "../../wire/jid.ts";
import type { DatabaseReader } from "../contract/database.ts";
import { bodyOf } from "../contract/rows.ts";
import type { MysqlRow, MysqlValue } from "./client.ts";
import { afterTimes } from "./schema.ts";
import type { MysqlSession } from "./session.ts";

/** Jobs that a search reads at a time. */
const databaseSearchPage = 500;
/** Returns that are read together. Each may be as large as `mediumtext` holds. */
const bodiesAtOnce = 16;

export class MysqlReader implements DatabaseReader {
  readonly #session: MysqlSession;

  constructor(session: MysqlSession) {
    this.#session = session;
  }

  async job(jid: string): Promise<LoadRecord | undefined> {
    const load = await this.request(jid);
    return load === undefined ? undefined : { jid, load, minions: [] };
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    const rows = await this.#session.rows("SELECT `jid`, `load` FROM `jids` WHERE `jid` = ?", [jid]);
    const row = rows.find((each) => each.jid === jid);
    return row === undefined ? undefined : bodyOf(String(row.load));
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
    const take = (rows: readonly MysqlRow[]) => {
      for (const row of rows) {
        const jid = String(row.jid);
        if (found.length >= query.limit) return;
        if (isInRange(jid, query) && matches(String(row.load), query)) found.push(jid);
      }
    };
    if (before === undefined || isJid(before)) await this.#eachTime(query, take, () => found.length >= query.limit);
    if (found.length < query.limit && query.from === undefined && query.until === undefined) {
      const others = await this.#others();
      take(
        others
          .filter(({ jid }) => !isJid(String(jid)))
          .sort((a, b) => compareNewestFirst(String(a.jid), String(b.jid))),
      );
    }
    return found;
  }

  /** Reads index entries of both tables. A page ends where one of them may have more. */
  async jids({ after = "", limit }: { readonly after: string | undefined; readonly limit: number }): Promise<string[]> {
    const part = (table: string) =>
      `(SELECT '${table}' AS part, \`jid\` FROM \`${table}\` WHERE \`jid\` > ? ORDER BY \`jid\` LIMIT ${limit})`;
    const sql = `SELECT * FROM (${part("jids")} UNION ALL ${part("salt_returns")}) AS both_tables ORDER BY \`jid\``;
    const left = new Map([
      ["jids", limit],
      ["salt_returns", limit],
    ]);
    const found = new Set<string>();
    for (const { part: table, jid } of await this.#session.rows(sql, [after, after])) {
      found.add(String(jid));
      const rest = (left.get(String(table)) ?? 0) - 1;
      if (rest === 0) break;
      left.set(String(table), rest);
    }
    return [...found];
  }

  /** The server's own estimate. */
  async jobCount(): Promise<number | undefined> {
    const sql =
      "SELECT TABLE_ROWS AS count FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'jids'";
    const [row] = await this.#session.rows(sql, []);
    return row === undefined ? undefined : Number(row.count);
  }

  async #bodies(jid: string, ids: readonly string[]): Promise<Map<string, Uint8Array>> {
    const marks = ids.map(() => "?").join(", ");
    const sql = `SELECT \`jid\`, \`id\`, \`full_ret\` FROM \`salt_returns\` WHERE \`jid\` = ? AND \`id\` IN (${marks})`;
    const rows = await this.#session.rows(sql, [jid, ...ids]);
    const found = new Map<string, Uint8Array>();
    for (const row of rows) {
      const id = String(row.id);
      if (row.jid === jid && !found.has(id)) found.set(id, bodyOf(String(row.full_ret)));
    }
    return found;
  }

  async #returnedIds(jid: string): Promise<string[]> {
    const rows = await this.#session.rows("SELECT DISTINCT `jid`, `id` FROM `salt_returns` WHERE `jid` = ?", [jid]);
    const ids = rows.filter((row) => row.jid === jid).map(({ id }) => String(id));
    return [...new Set(ids)].sort(compareIds);
  }

  async #eachTime(
    { before, from = "0", until }: JobQuery,
    take: (rows: readonly MysqlRow[]) => void,
    isDone: () => boolean,
  ): Promise<void> {
    let below =
      [before, until === undefined ? undefined : String(BigInt(until) + 1n)]
        .filter((bound) => bound !== undefined)
        .sort()[0] ?? afterTimes;
    for (;;) {
      const values: MysqlValue[] = [below, from];
      const sql = `SELECT \`jid\`, \`load\` FROM \`jids\` WHERE \`jid\` < ? AND \`jid\` >= ? ORDER BY \`jid\` DESC LIMIT ${databaseSearchPage}`;
      const rows = await this.#session.rows(sql, values);
      take(rows.filter(({ jid }) => isJid(String(jid))));
      const last = rows.at(-1);
      if (rows.length < databaseSearchPage || last === undefined || isDone()) return;
      below = String(last.jid);
    }
  }

  /** Jobs with ids that users gave. There are few of them. */
  async #others(): Promise<readonly MysqlRow[]> {
    const sql = `SELECT \`jid\`, \`load\` FROM \`jids\` WHERE \`jid\` < '0' OR \`jid\` > ? LIMIT ${databaseSearchPage}`;
    return await this.#session.rows(sql, [afterTimes]);
  }
}

function matches(load: string, query: JobQuery): boolean {
  return hasFacts(readJobFacts(bodyOf(load)), query);
}
