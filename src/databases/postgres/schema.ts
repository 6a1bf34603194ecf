/** The tables of Salt's returners `postgres` and `pgjsonb`. Source: the columns and keys that Salt's documentation gives for them. */
import type { PostgresName } from "./settings.ts";

const now = "timestamp with time zone DEFAULT now()";

/**
 * Statements by the table that they make. Tables that exist are left as they are. `jid` of `jids` is wider than in Salt's table of `postgres`, whose 20
 * characters do not hold the job ids of `unique_jid`.
 */
export function tablesOf(name: PostgresName): ReadonlyMap<string, readonly string[]> {
  const isBinary = name === "pgjsonb";
  const json = isBinary ? "jsonb" : "text";
  const gin = (index: string, table: string, column: string) =>
    isBinary ? [`CREATE INDEX ${index} ON ${table} USING gin (${column}) WITH (fastupdate=on)`] : [];
  return new Map([
    [
      "jids",
      [
        `CREATE TABLE jids (jid varchar(255) PRIMARY KEY, load ${json} NOT NULL)`,
        ...gin("idx_jids_jsonb", "jids", "load"),
      ],
    ],
    [
      "salt_returns",
      [
        `CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return ${json} NOT NULL, ` +
          `id varchar(255) NOT NULL, success varchar(10) NOT NULL, full_ret ${json}${isBinary ? " NOT NULL" : ""}, ` +
          `alter_time ${now})`,
        "CREATE INDEX idx_salt_returns_id ON salt_returns (id)",
        "CREATE INDEX idx_salt_returns_jid ON salt_returns (jid)",
        "CREATE INDEX idx_salt_returns_fun ON salt_returns (fun)",
        ...(isBinary ? [] : ["CREATE INDEX idx_salt_returns_updated ON salt_returns (alter_time)"]),
        ...gin("idx_salt_returns_return", "salt_returns", "return"),
        ...gin("idx_salt_returns_full_ret", "salt_returns", "full_ret"),
      ],
    ],
    [
      "salt_events",
      [
        "CREATE SEQUENCE IF NOT EXISTS seq_salt_events_id",
        "CREATE TABLE salt_events (id bigint NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'), " +
          `tag varchar(255) NOT NULL, data ${json} NOT NULL, alter_time ${now}, master_id varchar(255) NOT NULL)`,
        "CREATE INDEX idx_salt_events_tag ON salt_events (tag)",
        ...gin("idx_salt_events_data", "salt_events", "data"),
      ],
    ],
  ]);
}
