/** The master's events in the table `salt_events` of Salt's returners `postgres` and `pgjsonb`. */
import { databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { columnTag, type EventDriver, type EventRow, type EventSink, type EventsWritten } from "../contract/events.ts";
import { writerName } from "../contract/writer.ts";
import { packageName } from "./client.ts";
import { jsonOf, withoutZeros } from "./json.ts";
import { PostgresSession } from "./session.ts";
import { type PostgresName, placeOf, settingsOf } from "./settings.ts";
import { type Insert, insert } from "./write.ts";

export const postgresEvents = driverOf("postgres");
export const pgjsonbEvents = driverOf("pgjsonb");

function driverOf(name: PostgresName): EventDriver {
  return { packageName, open: (config) => new PostgresEvents(config, name) };
}

const intoEvents: Insert = {
  head: "INSERT INTO salt_events (tag, data, master_id) VALUES ",
  tail: " RETURNING id",
  columns: 3,
};

/**
 * The places of rows that the table does not have, from 1. Equal events may be there several times, so they are counted. `jsonb` does not give back the
 * text that it was given, so the server compares values.
 */
function absentQuery(type: "jsonb" | "text"): string {
  return (
    `WITH given AS (SELECT tag, data::${type} AS data, place FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS rows (tag, data, place)), ` +
    `stored AS (SELECT tag, data::${type} AS data, count(*) AS times FROM salt_events ` +
    "WHERE id > $1::bigint AND master_id = $2 AND tag = ANY($3::text[]) GROUP BY 1, 2), " +
    "numbered AS (SELECT place, COALESCE(times, 0) AS times, row_number() OVER (PARTITION BY tag, data ORDER BY place) AS number " +
    "FROM given LEFT JOIN stored USING (tag, data)) SELECT place FROM numbered WHERE number > times"
  );
}

class PostgresEvents implements EventSink {
  readonly name: PostgresName;
  readonly place: string;
  readonly #masterId: string;
  readonly #session: PostgresSession;
  /** All rows of an attempt whose end is unknown have greater numbers. */
  #lastId: bigint | undefined;

  constructor(config: DatabaseConfig, name: PostgresName) {
    const settings = settingsOf(config, name);
    this.name = name;
    this.place = placeOf(settings);
    this.#masterId = config.id;
    // Both drivers may use one database.
    const soleName = `${writerName(config, "events")}.${name}`;
    this.#session = new PostgresSession(settings, { statementMs: databaseStatementMs, soleName });
  }

  async check(): Promise<void> {
    const [found] = await this.#session.rows("SELECT max(id) AS id FROM salt_events", []);
    const lastId = BigInt(found?.id ?? 0);
    this.#lastId ??= lastId;
    // A table that was emptied may number its rows anew, and all of them may be ours.
    if (this.#lastId > lastId) this.#lastId = 0n;
  }

  async write(rows: readonly EventRow[], { mayBePresent }: { readonly mayBePresent: boolean }): Promise<EventsWritten> {
    const columns = rows.map(({ tag, data }): readonly [string, string] => [
      withoutZeros(columnTag(tag)),
      jsonOf(this.name, data),
    ]);
    const { added, ids } = await this.#session.transaction(async () => {
      const absent = mayBePresent ? await this.#absent(columns) : columns;
      const values = absent.map(([tag, data]) => [tag, data, this.#masterId]);
      return { added: absent.length, ids: await insert(this.#session, intoEvents, values) };
    });
    let lastId = 0n;
    for (const { id } of ids) {
      const number = BigInt(id ?? 0);
      if (number > lastId) lastId = number;
    }
    if (lastId > 0n) this.#lastId = lastId;
    return { added, present: rows.length - added };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #absent(columns: readonly (readonly [string, string])[]): Promise<readonly (readonly [string, string])[]> {
    const sql = absentQuery(this.name === "pgjsonb" ? "jsonb" : "text");
    const [tags, data] = [columns.map(([tag]) => tag), columns.map(([, text]) => text)];
    const found = await this.#session.rows(sql, [String(this.#lastId ?? 0), this.#masterId, tags, data]);
    const places = new Set(found.map(({ place }) => Number(place)));
    return columns.filter((_, index) => places.has(index + 1));
  }
}
