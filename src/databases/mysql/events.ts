/** The master's events in the table `salt_events` of Salt's returner `mysql`. */
import { createHash } from "node:crypto";
import { databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { columnTag, type EventDriver, type EventRow, type EventSink, type EventsWritten } from "../contract/events.ts";
import { writerName } from "../contract/writer.ts";
import { packageName } from "./client.ts";
import { MysqlSession, placeOf } from "./session.ts";
import { type Insert, insert, statementBytesMax, withLargestPackets } from "./write.ts";

export const mysqlEvents: EventDriver = {
  packageName,
  open: (config) => new MysqlEvents(config),
};

const intoEvents: Insert = {
  head: "INSERT INTO `salt_events` (`tag`, `data`, `master_id`) VALUES ",
  tail: "",
  columns: 3,
};

class MysqlEvents implements EventSink {
  readonly name = "mysql";
  readonly place: string;
  readonly #masterId: string;
  readonly #session: MysqlSession;
  /** All rows of an attempt whose end is unknown have greater numbers. */
  #lastId: number | undefined;

  constructor(config: DatabaseConfig) {
    this.place = placeOf(config);
    this.#masterId = config.id;
    const soleName = writerName(config, "events");
    this.#session = new MysqlSession(config, { statementMs: databaseStatementMs, soleName });
  }

  async check(): Promise<void> {
    const [found] = await this.#session.rows("SELECT MAX(`id`) AS id FROM `salt_events`", []);
    const lastId = Number(found?.id ?? 0);
    this.#lastId ??= lastId;
    // A table that was emptied may number its rows anew, and all of them may be ours.
    if (this.#lastId > lastId) this.#lastId = 0;
  }

  async write(rows: readonly EventRow[], { mayBePresent }: { readonly mayBePresent: boolean }): Promise<EventsWritten> {
    return await withLargestPackets(this.#session, () => this.#write(rows, mayBePresent));
  }

  async #write(rows: readonly EventRow[], mayBePresent: boolean): Promise<EventsWritten> {
    const bytesMax = await statementBytesMax(this.#session);
    const { added, lastId } = await this.#session.transaction(async () => {
      const absent = mayBePresent ? await this.#absent(rows) : rows;
      const values = absent.map(({ tag, data }) => [columnTag(tag), data, this.#masterId]);
      return { added: absent.length, lastId: await insert(this.#session, intoEvents, values, bytesMax) };
    });
    if (lastId > 0) this.#lastId = lastId;
    return { added, present: rows.length - added };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** The rows that the table does not have. Equal events may be there several times, so they are counted. */
  async #absent(rows: readonly EventRow[]): Promise<readonly EventRow[]> {
    const sql =
      "SELECT `tag`, MD5(CONVERT(`data` USING utf8mb4)) AS sum FROM `salt_events` WHERE `id` > ? AND `master_id` = ?";
    const found = await this.#session.rows(sql, [this.#lastId ?? 0, this.#masterId]);
    const counts = new Map<string, number>();
    for (const { tag, sum } of found) counts.set(`${sum} ${tag}`, (counts.get(`${sum} ${tag}`) ?? 0) + 1);
    return rows.filter(({ tag, data }) => {
      const key = `${createHash("md5").update(data).digest("hex")} ${columnTag(tag)}`;
      const count = counts.get(key) ?? 0;
      counts.set(key, count - 1);
      return count <= 0;
    });
  }
}
