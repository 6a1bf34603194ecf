/** Tables of events in a real MariaDB and a real PostgreSQL against their contract. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openEventSink } from "../../../src/databases/events/registry.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { type EventTableUnderTest, eventTableContract } from "../../contract/event-table.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";

const skipPostgres = postgresMissing() ?? false;
let server: PostgresServer;
before(async () => {
  if (skipPostgres === false) server = await PostgresServer.start();
});
after(() => server?.remove());

async function inMariaDb(): Promise<EventTableUnderTest> {
  const mariaDb = await MariadbServer.start();
  await makeTables(mariaDb.config(), "mysql");
  return {
    port: mariaDb.port,
    password: mariaDb.password,
    config: ({ port, masterId: id = "the_master" }) => mariaDb.config({ ...mariaDb.options(port), id }),
    sql: (statements) => mariaDb.sql(`USE salt; ${statements}`),
    remove: () => mariaDb.remove(),
  };
}

async function inPostgres(name: "pgjsonb" | "postgres"): Promise<EventTableUnderTest> {
  await makeTables(server.config(name), name);
  return {
    port: server.port,
    password: server.password,
    config: ({ port, masterId: id = "the_master" }) => server.config(name, { ...server.options(name, port), id }),
    sql: (statements) => server.sqlOf(name, statements),
    remove: async () => undefined,
  };
}

async function makeTables(config: Parameters<typeof openDatabase>[0], name: Parameters<typeof openDatabase>[1]) {
  const database = openDatabase(config, name);
  await database.createSchema();
  await database.close();
}

eventTableContract("mysql", inMariaDb, {
  skip: mariadbMissing() ?? false,
  refused: () => JSON.stringify("x".repeat(17 * 1024 * 1024)),
});
eventTableContract("pgjsonb", () => inPostgres("pgjsonb"), { skip: skipPostgres, refused: () => "1e999999" });
eventTableContract("postgres", () => inPostgres("postgres"), {
  skip: skipPostgres,
  refused: () => {
    server.sqlOf("postgres", "ALTER TABLE salt_events DROP CONSTRAINT IF EXISTS small");
    server.sqlOf("postgres", "ALTER TABLE salt_events ADD CONSTRAINT small CHECK (length(data) < 1000)");
    return JSON.stringify("x".repeat(2_000));
  },
});

describe("events in pgjsonb", { skip: skipPostgres }, () => {
  it("are kept with what jsonb refuses", async () => {
    server.sqlOf("pgjsonb", "DELETE FROM salt_events");
    const sink = openEventSink(server.config("pgjsonb"), "pgjsonb");
    await sink.check();
    const rows = [{ tag: "a\0b", data: '{"a\\u0000": [NaN, -Infinity, "\\u0000 NaN"]}', serial: 1 }];
    await sink.write(rows, { mayBePresent: false });
    assert.deepEqual(server.sqlOf("pgjsonb", "SELECT tag, data FROM salt_events"), [
      'a\ufffdb\t{"a\ufffd": ["NaN", "-Infinity", "\ufffd NaN"]}',
    ]);
    await sink.close();
  });
});
