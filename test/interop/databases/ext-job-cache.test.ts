/** `ext_job_cache` beside Salt's: minions write their returns, the master its jobs, and each one's tools find what the other's minions wrote. */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openDatabase } from "../../../src/databases/registry.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";
import { RedisServer } from "../../databases/redis-server.ts";
import { skipWithout } from "../../services/service.ts";
import { openSaltsReturners } from "../returners/salts-returner.ts";
import { minionId, type Side, TwoMasters } from "./two-masters.ts";

type Rows = { readonly load: readonly string[]; readonly returns: readonly string[] };
type Cache = {
  readonly name: "pgjsonb" | "redis";
  readonly skip: string | false;
  /** @returns the options of both masters and of their minions */
  open(): Promise<Readonly<Record<string, unknown>>>;
  /** What it has of a job, a row for each minion. */
  rowsOf(jid: string): Rows;
  close(): Promise<void>;
};

const salts = await openSaltsReturners();
const ourMinion = "web2";
const jobs: readonly (readonly string[])[] = [
  ["test.ping"],
  ["cmd.run", "echo bad; exit 3", "--metadata={ticket: OPS-3}"],
  ["test.arg", "1", "a'b\"c\\d", "k={x: [1.5, null, gr\u00fc\u00dfe \u{1f9c2}]}"],
];
// A minion of 3007 runs its returners only when it has given up waiting for an acknowledgement that it has: docs/compatibility.md.
const retries = { return_retry_timer: 1, return_retry_timer_max: 1, return_retry_tries: 1 };

for (const cache of [inPostgres(), inRedis()]) {
  const { name, skip } = cache;
  describe(`ext_job_cache: ${name}, beside Salt's`, { skip: salts.skip || skip, timeout: 400_000 }, () => {
    const site = new TwoMasters(salts);
    before(async () => {
      const options = { ext_job_cache: name, ...(await cache.open()), ...retries };
      await site.open({ theirs: options, ours: options }, "psycopg2", "psycopg2_binary.libs", "redis");
      await site.addOurs("ours", ourMinion, options);
    });
    after(async () => {
      await site.bed.close();
      await cache.close();
    });

    /** Empty until the load and the returns of `count` minions are there. */
    const ofMinions = (count: number) => (jid: string) => {
      const { load, returns } = cache.rowsOf(jid);
      return load.length === 0 || returns.length < count ? [] : [...load, ...returns];
    };

    site.bed.it("a minion of Salt's writes the same rows at our master, and the master the same job", async () => {
      const all = async (side: Side) => {
        const jids: string[] = [];
        for (const words of jobs) jids.push(await site.start(side, words));
        return await Promise.all(jids.map((jid) => site.rowsOfStarted(jid, ofMinions(1))));
      };
      const [theirs, ours] = await Promise.all([all("theirs"), all("ours")]);
      for (const [index, words] of jobs.entries()) assert.deepEqual(ours[index], theirs[index], words.join(" "));
      for (const rows of theirs) assert.match(rows.join("\n"), new RegExp(`"ret": "${name}"`));
    });

    site.bed.it("each one's tools find the jobs of the other, with ext_source and without", async () => {
      const theirs = {
        jid: await site.start("theirs", ["test.echo", "found"]),
        ids: [minionId],
        reader: "ours",
      } as const;
      const words = ["test.echo", "found"];
      const ours = { jid: await site.start("ours", words, "*"), ids: [minionId, ourMinion], reader: "theirs" } as const;
      for (const { jid, ids } of [theirs, ours]) await site.rowsOfStarted(jid, ofMinions(ids.length));
      for (const { jid, ids, reader } of [theirs, ours, { ...ours, reader: "ours" } as const]) {
        const operator = site.operator(reader, reader);
        const expected = Object.fromEntries(ids.map((id) => [id, "found"]));
        for (const source of [[], [`ext_source=${name}`]]) {
          assert.deepEqual(
            await operator.json("run", ["jobs.lookup_jid", jid, ...source]),
            expected,
            `${reader} ${source}`,
          );
          const listed = (await operator.json("run", ["jobs.list_jobs", ...source])) as Record<string, unknown>;
          assert.equal((listed[jid] as { Function: string }).Function, "test.echo", `${reader} ${source}`);
        }
      }
    });

    site.bed.it("our minion writes what Salt's writes", async () => {
      const jid = await site.start("ours", ["test.echo", "it's \u{1f9c2}"], "*");
      await site.rowsOfStarted(jid, ofMinions(2));
      const [theirs = "", ours = ""] = [...cache.rowsOf(jid).returns].sort();
      const known = (row: string) => fieldsOf(row.replaceAll(ourMinion, minionId));
      assert.deepEqual(known(ours), known(theirs));
    });
  });
}

/** The JSON objects of a row in the order of their members, because the members have no order of Salt's own. */
function fieldsOf(row: string): readonly unknown[] {
  return row.split("\t").map((text) => (text.startsWith("{") ? { ...JSON.parse(text), user: "" } : text));
}

function inPostgres(): Cache {
  const name = "pgjsonb";
  let server: PostgresServer;
  return {
    ...{ name, skip: postgresMissing() ?? false },
    open: async () => {
      server = await PostgresServer.start();
      const database = openDatabase(server.config(name), name);
      await database.createSchema();
      await database.close();
      return server.options(name);
    },
    rowsOf: (jid) => ({
      load: server.sqlOf(name, `SELECT load FROM jids WHERE jid = '${jid}'`),
      returns: server.sqlOf(
        name,
        `SELECT id, fun, return, success, full_ret FROM salt_returns WHERE jid = '${jid}' ORDER BY id`,
      ),
    }),
    close: async () => await server?.remove(),
  };
}

function inRedis(): Cache {
  let server: RedisServer;
  return {
    ...{ name: "redis", skip: skipWithout("redis-server", "redis-cli") },
    open: async () => {
      server = await RedisServer.start();
      return { keep_jobs_seconds: 7_200, ...server.options() };
    },
    rowsOf: (jid) => {
      const [ids, loads] = [server.command("HKEYS", `ret:${jid}`), server.command("GET", `load:${jid}`)];
      const returned = ids.filter((id) => id !== "").sort();
      // The other side's minion has the same name, and so the same key.
      const last = (id: string, text: string) =>
        server.command("GET", `${id}:${JSON.parse(text).fun}`)[0]?.replace(/^\d{20}$/, "known");
      return {
        load: loads.filter((text) => text !== ""),
        returns: returned.map((id) => {
          const text = server.command("HGET", `ret:${jid}`, id)[0] ?? "";
          return [id, text, `last job ${last(id, text)}`].join("\t");
        }),
      };
    },
    close: async () => await server?.service.close(),
  };
}
