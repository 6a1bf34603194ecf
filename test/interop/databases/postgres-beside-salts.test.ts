/** Jobs and events in PostgreSQL beside Salt's: both masters write the same rows, and each one's tools find what the other wrote. */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openDatabase } from "../../../src/databases/registry.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";
import { openSaltsReturners } from "../returners/salts-returner.ts";
import { minionId, type Side, TwoMasters, withoutTimes } from "./two-masters.ts";

const salts = await openSaltsReturners();
const skip = salts.skip || (postgresMissing() ?? false);
let server: PostgresServer;
before(async () => {
  if (skip === false) server = await PostgresServer.start();
});
after(() => server?.remove());

for (const name of ["pgjsonb", "postgres"] as const)
  describe(`jobs and events in ${name} beside Salt's`, { skip, timeout: 400_000 }, () => {
    const site = new TwoMasters(salts);
    const sql = (statement: string) => server.sqlOf(name, statement);

    before(async () => {
      const database = openDatabase(server.config(name), name);
      await database.createSchema();
      await database.close();
      const options = { ...server.options(name), master_job_cache: name, event_return: name };
      await site.open({ theirs: options, ours: options }, "psycopg2", "psycopg2_binary.libs");
    });
    after(() => site.bed.close());

    /** With pgjsonb a master of Salt's overwrites the request with each return. */
    const keepsRequest = name === "postgres";
    const loadsOf = (jid: string) => sql(`SELECT jid, load FROM jids WHERE jid = '${jid}'`);

    /** Empty until the load and the return are there. */
    function rowsOf(jid: string): string[] {
      const returned = sql(`SELECT fun, jid, return, id, success, full_ret FROM salt_returns WHERE jid = '${jid}'`);
      const loads = loadsOf(jid);
      if (returned.length === 0 || loads.length === 0) return [];
      return keepsRequest ? [...loads, ...returned] : returned;
    }

    site.bed.it("a master of ours writes the rows of Salt's", async () => {
      for (const rows of await site.compare(rowsOf)) assert.equal(rows.length, keepsRequest ? 2 : 1);
    });

    site.bed.it("a master of ours writes the request of Salt's, and keeps it when the minion returns", async () => {
      const started = async (side: Side) => {
        const jid = await site.start(side, ["test.sleep", "2", "--metadata={ticket: OPS-3}"]);
        const load = await site.until(() => loadsOf(jid)[0]);
        return { jid, load: load.replaceAll(jid, "JID") };
      };
      const [theirs, ours] = await Promise.all([started("theirs"), started("ours")]);
      assert.equal(ours.load, theirs.load);
      assert.match(ours.load, /"cmd": "publish"/);
      await site.until(() => rowsOf(ours.jid)[0]);
      assert.equal(loadsOf(ours.jid)[0]?.replaceAll(ours.jid, "JID"), theirs.load);
    });

    site.bed.it("a master of ours writes the events of Salt's", async () => {
      const [theirs, ours] = await Promise.all([eventsOf("theirs"), eventsOf("ours")]);
      assert.deepEqual(ours, theirs);
      assert.deepEqual(
        theirs.map((row) => row.split("\t")[0]),
        ["JID", "salt/job/JID/new", "salt/job/JID/publish", "my/tag", `salt/job/JID/ret/${minionId}`],
      );
    });

    /** The rows of a job that sends an event of its own. */
    async function eventsOf(side: Side): Promise<readonly string[]> {
      const mark = `x${name}${side}`;
      const jid = await site.start(side, [
        "event.send",
        "my/tag",
        `{mark: ${mark}, x: [1.5, null, gr\u00fc\u00dfe, {a: true}]}`,
      ]);
      const returned = `salt/job/${jid}/ret/${minionId}`;
      await site.until(() => sql(`SELECT tag FROM salt_events WHERE tag = '${returned}'`)[0]);
      const rows = sql("SELECT tag, data, master_id FROM salt_events ORDER BY id");
      return rows
        .filter((row) => row.includes(jid) || row.includes(mark))
        .map((row) => withoutTimes(row.replaceAll(jid, "JID").replaceAll(mark, "MARK").replaceAll(side, "SIDE")));
    }

    site.bed.it("each one's tools find the jobs of the other", async () => {
      for (const [writer, reader] of [
        ["ours", "theirs"],
        ["theirs", "ours"],
      ] as const) {
        const jid = await site.start(writer, ["test.echo", "found"]);
        await site.until(() => rowsOf(jid)[0]);
        const operator = site.operator(reader, reader);
        assert.deepEqual(await operator.json("run", ["jobs.lookup_jid", jid]), { [minionId]: "found" }, reader);
        const all = (await operator.json("run", ["jobs.list_jobs", `ext_source=${name}`])) as Record<string, unknown>;
        assert.equal((all[jid] as { Function: string }).Function, "test.echo", reader);
        const listed = (await operator.json("run", ["jobs.list_job", jid])) as Record<string, unknown>;
        const isRequest = keepsRequest || writer === "ours";
        assert.deepEqual(
          [listed.Function, listed.Target],
          ["test.echo", isRequest ? minionId : "unknown-target"],
          reader,
        );
      }
    });
  });
