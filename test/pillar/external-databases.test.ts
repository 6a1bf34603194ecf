/** External sources that ask databases: rows as in Salt, TLS, and databases that send without end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Overrides } from "../../src/config/load.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";
import { extPillarBytesMax, extPillarReceivedBytesMax } from "../../src/limits.ts";
import { checkSourcePackages } from "../../src/pillar/external/merge-sources.ts";
import { withPlaceholder } from "../../src/pillar/external/sql/placeholder.ts";
import { sqlQueries, sqlValues } from "../../src/pillar/external/sql/rows.ts";
import { askServer } from "../../src/pillar/external/sql/source.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { type Answered, compiled, errorsOf, theirs } from "./asked-servers.ts";
import { answersOf, corpusOf } from "./corpus.ts";
import { settingsOf, valueFrom } from "./rendering.ts";

type Table = { readonly fields: readonly string[]; readonly rows: readonly (readonly (string | number | null)[])[] };
type QueryCase = { readonly name: string; readonly arguments: ConfigValue; readonly tables: readonly Table[] };

/** Node.js 20 lacks it: tests that need it are declared where it is. */
const sqlite = "node:sqlite";

describe("rows of queries become what they become in Salt", () => {
  const answers = answersOf<Answered>("queries");
  for (const given of corpusOf<readonly QueryCase[]>("queries")) {
    const written = valueFrom(given.arguments);
    const queries = Array.isArray(written) ? sqlQueries(written, new Map()) : sqlQueries([], written as never);
    const isPlain = queries.every(({ query }) => query.startsWith("SELECT * FROM t"));
    const isCompared = isPlain && given.name !== "a document that is no map";
    // The others need the database itself.
    if (!isCompared && !isBuiltin(sqlite)) continue;
    it(given.name, async () => {
      if (isCompared) {
        const tables = queries.map(
          ({ query }) => given.tables[Number(/t(\d)/.exec(query)?.[1])] ?? { fields: [], rows: [] },
        );
        const results = tables.map(({ fields, rows }) => ({ fields, rows: rows.map((row) => row.map(valueFrom)) }));
        // The corpus has no floats that are whole, except in documents.
        const own = new Map([...sqlValues(queries, results)]);
        assert.deepEqual(numbers(own), numbers(theirs(answers, given.name)));
      }
      if (isBuiltin(sqlite)) assert.deepEqual(await sqlitePillar(given), theirs(answers, given.name));
    });
  }

  const ended = async () => {
    const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i), ? FROM n";
    const result = await compiled(
      { sqlite3: { database: ":memory:" }, ext_pillar: [{ sqlite3: [endless] }] },
      [],
      1_500,
    );
    assert.match(errorsOf(result), /ext_pillar_timeout \(1.5 seconds\)/);
    const missing = await compiled({ sqlite3: { database: "/no/such.db" }, ext_pillar: [{ sqlite3: ["SELECT ?"] }] });
    assert.match(errorsOf(missing), /Failed to load ext_pillar sqlite3: unable to open database file/);
  };
  if (isBuiltin(sqlite)) it("of a process that is ended with its query", ended);
});

/** Without the difference of 2 and 2.0, which JavaScript's JSON of the corpus does not know. */
function numbers(value: unknown): string {
  const plain = (item: unknown): unknown => {
    if (item instanceof Map) return [...item].map(([key, member]) => [plain(key), plain(member)]);
    if (Array.isArray(item)) return item.map(plain);
    return typeof item === "object" && item !== null && "value" in item ? item.value : item;
  };
  return JSON.stringify(plain(value));
}

async function sqlitePillar(given: QueryCase): Promise<ValueMap> {
  const folder = mkdtempSync(join(tmpdir(), "external-sqlite-"));
  try {
    const path = join(folder, "pillar.db");
    const { DatabaseSync } = createRequire(import.meta.url)(sqlite);
    const database = new DatabaseSync(path);
    for (const [number, { fields, rows }] of given.tables.entries()) {
      database.exec(`CREATE TABLE t${number} (${fields.map((name) => `"${name}"`).join(", ")})`);
      const insert = database.prepare(`INSERT INTO t${number} VALUES (${fields.map(() => "?").join(", ")})`);
      for (const row of rows)
        insert.run(...row.map((cell) => (Number.isInteger(cell) ? BigInt(cell as number) : cell)));
    }
    database.close();
    const master = { sqlite3: { database: path }, ext_pillar: [{ sqlite3: given.arguments }] };
    return (await compiled(master as Overrides)).pillar;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a database that sends without end", () => {
  it("is cut off, and its rows are not kept: PostgreSQL", async () => {
    const message = (kind: string, body: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(body.length + 4);
      return Buffer.concat([Buffer.from(kind), length, body]);
    };
    const zeros = (bytes: number) => Buffer.alloc(bytes);
    const cell = Buffer.alloc(1024 * 1024, "x");
    const cellBytes = Buffer.alloc(4);
    cellBytes.writeUInt32BE(cell.length);
    const row = message("D", Buffer.concat([Buffer.from([0, 1]), cellBytes, cell]));
    const column = Buffer.concat([
      Buffer.from([0, 1]),
      Buffer.from("a\0"),
      zeros(6),
      Buffer.from([0, 0, 0, 25]),
      zeros(8),
    ]);
    const begun = [message("1", zeros(0)), message("2", zeros(0)), message("T", column)];
    const openings = [
      Buffer.from("N"),
      Buffer.concat([message("R", zeros(4)), message("Z", Buffer.from("I"))]),
      Buffer.concat(begun),
    ];
    let sentBytes = 0;
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined).on("close", () => server.close());
      const more = () => {
        for (let isOpen = true; isOpen && !socket.destroyed; sentBytes += row.length) isOpen = socket.write(row);
      };
      socket.on("data", () => {
        const opening = openings.shift();
        if (opening !== undefined) socket.write(opening);
        if (opening === undefined || openings.length > 0) return;
        socket.on("drain", more);
        more();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const postgres = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
    const ext_pillar = [{ postgres: ["SELECT %s"] }];
    const result = await compiled({ postgres, ext_pillar, ext_pillar_failures: "ignore" });
    assert.match(errorsOf(result), new RegExp(`postgres: the server sent more than ${extPillarBytesMax} bytes`));
    assert.equal(result.counts.tooLarge, 1);
    assert.ok(sentBytes < 16 * extPillarBytesMax, `${sentBytes}`);
  });

  it("is not asked for a value that is too large: Redis", async () => {
    const asked: string[] = [];
    const answers: Readonly<Record<string, string>> = {
      LLEN: ":3",
      STRLEN: `:${extPillarBytesMax + 1}`,
      TYPE: "+list",
    };
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes: Buffer) => {
        // Each command is an array of texts.
        for (const command of bytes
          .toString("utf8")
          .split(/^\*\d+\r\n/m)
          .slice(1)) {
          const [, name = ""] = command.split("\r\n");
          asked.push(name);
          socket.write(`${name === "MEMORY" ? `:${extPillarReceivedBytesMax + 1}` : (answers[name] ?? "+OK")}\r\n`);
        }
      });
    });
    server.listen(0, "127.0.0.1");
    try {
      await once(server, "listening");
      const options = { "redis.host": "127.0.0.1", "redis.port": (server.address() as AddressInfo).port };
      for (const name of ["key_value", "key_json"]) {
        const result = await compiled({ ...options, ext_pillar: [{ redis: { function: name } }] });
        assert.match(errorsOf(result), /redis: the server sent more than/);
        assert.equal(result.counts.tooLarge, 1);
      }
      assert.ok(asked.includes("MEMORY") && asked.includes("STRLEN"), String(asked));
      assert.ok(!asked.includes("LRANGE") && !asked.includes("GET"), String(asked));
    } finally {
      server.close();
    }
  });
});

describe("a database that does not answer", () => {
  it("is given up with its pillar, although its driver leaves the query open", { timeout: 10_000 }, async () => {
    const ending = new AbortController();
    let ended = 0;
    const asked = askServer(["SELECT ?"], ending.signal, {
      place: "db:1",
      connect: async () => ({ bytesRead: 0, destroy: () => undefined }),
      end: () => {
        ended += 1;
      },
      streamOf: (client) => client,
      ask: () => {
        setImmediate(() => ending.abort());
        return new Promise(() => undefined);
      },
    });
    await assert.rejects(asked, { code: "PILLAR_FAILED", message: /did not answer in time/ });
    assert.ok(ended > 0);
  });
});

describe("a database's connection", () => {
  /** @returns what a client of PostgreSQL sends first, and after the server said that it has no TLS */
  async function postgresOpening(answer: string): Promise<readonly string[]> {
    const seen: string[] = [];
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (first: Buffer) => {
        seen.push(first.subarray(4, 8).toString("hex"));
        if (first.length > 8) socket.destroy();
        else socket.end(answer);
      });
    });
    server.listen(0, "127.0.0.1");
    try {
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const postgres = { host: "127.0.0.1", port };
      await compiled({ postgres, ext_pillar: [{ postgres: ["SELECT %s"] }] }, [], 5_000);
      return seen;
    } finally {
      server.close();
    }
  }

  it("to PostgreSQL is one with TLS, and without it only where the server has none", async () => {
    const [tls, plain] = ["04d2162f", "00030000"];
    assert.deepEqual(await postgresOpening("N"), [tls, plain]);
    assert.deepEqual(await postgresOpening("E"), [tls]);
  });

  it("to MySQL is not made without the TLS that is asked for", async () => {
    for (const ssl of [true, {}, { verify: true }] as const) {
      const result = await compiled({
        mysql: { host: "127.0.0.1", port: 1, ssl },
        ext_pillar: [{ mysql: ["SELECT %s"] }],
      });
      assert.match(errorsOf(result), /`ssl` of the option mysql has to name a file: ca, cert or key/);
    }
    const without = { mysql: { host: "127.0.0.1", port: 1, ssl: false }, ext_pillar: [{ mysql: ["SELECT %s"] }] };
    assert.match(errorsOf(await compiled(without)), /ECONNREFUSED/);
  });
});

describe("queries", () => {
  it("bind the id and hold it exactly once", () => {
    assert.equal(withPlaceholder("SELECT '%%' WHERE a = %s", "?"), "SELECT '%' WHERE a = ?");
    assert.throws(() => withPlaceholder("SELECT 1", "?"), /no %s/);
    assert.throws(() => withPlaceholder("SELECT %s, %s", "?"), /more than one/);
    assert.throws(() => withPlaceholder("SELECT %(a)s", "?"), /unsupported format character '\('/);
  });

  it("refuse the start where Node.js has no SQLite", () => {
    const settings = settingsOf({ ext_pillar: [{ sqlite3: ["SELECT ?"] }] });
    if (isBuiltin(sqlite)) checkSourcePackages(settings);
    else
      assert.throws(() => checkSourcePackages(settings), {
        code: "PACKAGE_MISSING",
        message: /^ext_pillar: sqlite3 needs/,
      });
  });
});
