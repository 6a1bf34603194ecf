/**
 * Jobs and events in MariaDB beside Salt's, as in its tutorial on returns and the job cache: both masters write the same rows and lines, and each one's
 * tools find what the other wrote.
 */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../src/databases/registry.ts";
import { MariadbServer, mariadbMissing } from "../databases/mariadb.ts";
import { Operator } from "./operator.ts";
import { openSaltsReturners } from "./returners/salts-returner.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const salts = await openSaltsReturners();
const { release } = salts;
const startTimeoutMs = 120_000;
const copiedTimeoutMs = 120_000;
const pollMs = 50;
const minionId = "web1";
/** The database of each master. */
const databases = { theirs: "salt", ours: "ours" } as const;
type Side = keyof typeof databases;
type Row = { readonly tag: string; readonly masterId: string; readonly data: string };

/** What the minions write to if a job chooses it: a user without rights elsewhere, and a database that only the job names. */
const other = { config: "alternative", user: "audit", password: "an-audit-1", database: "other" } as const;
const elsewhere = ["--return", "mysql", "--return_config", other.config];
const diskJob = ["cmd.run", "df -h"];

/** Words after `salt MINION`. */
const jobs: readonly (readonly string[])[] = [
  ["test.ping"],
  diskJob,
  ["test.echo", "twice", "--return", "mysql"],
  ["test.echo", "elsewhere", ...elsewhere, "--return_kwargs", `{"db": "${other.database}"}`],
  ["cmd.run", "echo bad; exit 3", "--metadata={ticket: OPS-3}"],
  ["test.arg", "1", "a'b\"c\\d", "k={x: [1.5, null, grüße]}"],
  ["test.echo", "grüße \u{1f9c2}"],
  ["event.send", "my/tag", "{x: [1.5, null, grüße, {a: true}]}"],
  ["test.exception", "on purpose"],
  ["test.nosuch"],
  ["state.single", "test.fail_without_changes", "name=x"],
];

describe("jobs in MariaDB beside Salt's", { skip: salts.skip || (mariadbMissing() ?? false), timeout: 400_000 }, () => {
  const bed = new TestBed();
  let server: MariadbServer;
  const masters = new Map<Side, MasterUnderTest>();
  /** The ids of the jobs that were compared. */
  const run: Readonly<Record<Side, string[]>> = { theirs: [], ours: [] };

  before(async () => {
    // Only this client: the folder has newer versions of packages that Salt brings itself.
    const clients = join(bed.folder, "clients");
    mkdirSync(clients);
    symlinkSync(join(salts.folder, "pymysql"), join(clients, "pymysql"));
    process.env.PYTHONPATH = clients;
    server = await MariadbServer.start();
    server.sql(`CREATE DATABASE ours CHARACTER SET utf8mb4; GRANT ALL ON ours.* TO '${server.user}'@'%'`);
    const { user, password, database } = other;
    server.sql(
      `CREATE DATABASE ${database} CHARACTER SET utf8mb4; CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`,
    );
    server.sql(`GRANT ALL ON ${database}.* TO '${user}'@'%'`);
    // The tables of our master are made by the command.
    await makeTables({ "mysql.db": databases.theirs });
    await makeTables({ "mysql.db": database, "mysql.user": user, "mysql.pass": password });
    await Promise.all([
      openSite("theirs", { master_job_cache: "mysql", ...events("theirs") }),
      openSite("ours", { master_job_cache: "mysql", ...events("ours") }),
    ]);
  });
  after(async () => {
    await bed.close();
    await server?.remove();
  });

  async function makeTables(options: Readonly<Record<string, string>>): Promise<void> {
    const database = openDatabase(server.config(options), "mysql");
    await database.createSchema();
    await database.close();
  }

  const eventFile = (side: Side) => join(bed.folder, `events of ${side}`);
  function events(side: Side): Readonly<Record<string, unknown>> {
    const lists = { event_return_blacklist: ["salt/auth", "*/start"] };
    return { event_return: ["mysql", "rawfile_json"], "rawfile_json.filename": eventFile(side), ...lists };
  }

  async function openSite(name: Side, more: Readonly<Record<string, unknown>>): Promise<void> {
    if (release === undefined) return;
    const maker = name === "theirs" ? release : "ours";
    const options = {
      ...{ ...server.options(), "mysql.db": databases[name] },
      ...{ [`${other.config}.mysql.user`]: other.user, [`${other.config}.mysql.pass`]: other.password },
      // A minion of 3007 runs its returners only when it has given up waiting for an acknowledgement that it has: docs/compatibility.md.
      ...{ return_retry_timer: 1, return_retry_timer_max: 1, return_retry_tries: 1 },
    };
    const master = await MasterUnderTest.create(bed, maker, { auto_accept: true, ...options, ...more }, name);
    await master.start();
    masters.set(name, master);
    if (name === "ours") {
      const made = await new Operator("ours", master).json("run", ["jobs.create_schema"]);
      assert.deepEqual((made as Record<string, unknown>)["Tables-made"], ["jids", "salt_returns", "salt_events"]);
    }
    const watch = await bed.watchEvents(master.sockDir);
    new MinionUnderTest(master, release, minionId, options, `${name}-minions`);
    await watch.until("minion start", ({ tag }) => tag === `salt/minion/${minionId}/start`, startTimeoutMs);
  }

  function masterOf(name: Side): MasterUnderTest {
    const master = masters.get(name);
    assert.ok(master !== undefined);
    return master;
  }

  async function until(what: string, isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + copiedTimeoutMs;
    while (!isDone()) {
      assert.ok(performance.now() < endMs, what);
      await delay(pollMs);
    }
  }

  /** Runs all jobs. @returns the rows of each, without what differs from one run to the next */
  async function rowsOf(side: Side): Promise<string[][]> {
    const operator = new Operator(side === "theirs" && release !== undefined ? release : "ours", masterOf(side));
    const database = databases[side];
    const found: string[][] = [];
    for (const words of jobs) {
      const { jid } = await operator.job(minionId, words);
      run[side].push(jid);
      const columns = "fun, jid, `return`, id, success, full_ret";
      const from = (place: string) =>
        server.sql(`SELECT ${columns} FROM ${place}.salt_returns WHERE jid = '${jid}' ORDER BY full_ret`);
      const returned = () => [...from(database), ...from(other.database)];
      // With --return the minion writes a row, too.
      const count = words.includes("--return") ? 2 : 1;
      await until(`${side}: ${words.join(" ")}`, () => returned().length >= count);
      if (words.includes("--return_config")) assert.equal(from(other.database).length, 1, side);
      const loads = server.sql(`SELECT jid, \`load\` FROM ${database}.jids WHERE jid = '${jid}'`);
      const rows = [...loads, ...returned()];
      assert.equal(rows.length, 1 + count, words.join(" "));
      found.push(rows.map((row) => withoutTimes(row.replaceAll(jid, "JID"))));
    }
    return found;
  }

  bed.it("a master of ours writes the rows of Salt's", async () => {
    const theirs = await rowsOf("theirs");
    const ours = await rowsOf("ours");
    for (const [index, words] of jobs.entries()) assert.deepEqual(ours[index], theirs[index], words.join(" "));
  });

  /** What the tutorial's `select * from salt_returns\G` shows of a job. */
  function shown(side: Side, jid: string): string {
    const text = server.shown(`SELECT * FROM ${databases[side]}.salt_returns WHERE jid = '${jid}'\\G`);
    return withoutTimes(text.replaceAll(jid, "JID")).replace(/alter_time: [\d: -]{19}\n/, "alter_time: TIME\n");
  }

  bed.it("an operator's query of a job shows the same text", async () => {
    const at = jobs.indexOf(diskJob);
    const [theirs, ours] = [shown("theirs", run.theirs[at] ?? ""), shown("ours", run.ours[at] ?? "")];
    assert.match(
      theirs,
      /^\*+ 1\. row \*+\n +fun: cmd\.run\n +jid: JID\n +return: "DISKS"\n(?:.|\n)*alter_time: TIME\n$/,
    );
    assert.equal(ours, theirs);
  });

  bed.it("a master of ours writes the events of Salt's", async () => {
    const found = await Promise.all((["theirs", "ours"] as const).map(eventsOf));
    const [theirs, ours] = found.map(({ rows }) => rows);
    assert.deepEqual(ours, theirs);
    assert.ok((theirs ?? []).length >= 3 * jobs.length + 1);
    for (const { rows, lines } of found) assert.deepEqual(lines, rows.map(lineOf));
  });

  /** The events of all jobs in their order, as rows and as lines of JSON. */
  async function eventsOf(side: Side): Promise<{ readonly rows: readonly Row[]; readonly lines: readonly string[] }> {
    const jids = run[side];
    const last = `salt/job/${jids.at(-1)}/ret/${minionId}`;
    const select = `SELECT tag, master_id, data FROM ${databases[side]}.salt_events`;
    await until(`${side}: ${last}`, () => server.sql(`${select} WHERE tag = '${last}'`).length > 0);
    const read = () => readFileSync(eventFile(side), "utf8").split("\n").slice(0, -1);
    await until(`${side}: ${last} in the file`, () => read().some((line) => line.includes(last)));
    // A slow machine makes Salt's command ask for the job.
    const isOther = /saltworks\/|saltutil\.find_job/;
    const isOfJob = (text: string) => jids.some((jid) => text.includes(jid)) && !isOther.test(text);
    const timeless = (text: string) => withoutTimes(jids.reduce((left, jid) => left.replaceAll(jid, "JID"), text));
    const rows = server.sql(`${select} ORDER BY id`).filter(isOfJob).map(timeless);
    return {
      rows: rows.map((row) => {
        const [tag = "", masterId = "", data = ""] = row.split("\t");
        return { tag, masterId: masterId.replace(side, "SIDE"), data };
      }),
      lines: read().filter(isOfJob).map(timeless),
    };
  }

  bed.it("Salt's salt-run and our command find a job of either master in our database", async () => {
    const { jid } = await new Operator("ours", masterOf("ours")).job(minionId, diskJob);
    await until("the row", () => rowsIn("salt_returns", jid) === 1);
    const theirs = run.theirs[jobs.indexOf(diskJob)] ?? "";
    const columns = "fun, jid, `return`, id, success, full_ret";
    server.sql(`INSERT INTO ours.jids SELECT * FROM salt.jids WHERE jid = '${theirs}'`);
    server.sql(
      `INSERT INTO ours.salt_returns (${columns}) SELECT ${columns} FROM salt.salt_returns WHERE jid = '${theirs}'`,
    );
    for (const maker of [release ?? "ours", "ours"] as const) {
      const operator = new Operator(maker, masterOf("ours"));
      for (const [one, sources] of [[jid, [[], ["ext_source=mysql"]]] as const, [theirs, [[]]] as const]) {
        for (const source of sources) {
          const found = (await operator.json("run", ["jobs.lookup_jid", one, ...source])) as Record<string, string>;
          assert.match(found[minionId] ?? "", /^Filesystem .*\n\S/, `${operator.name} ${one} ${source}`);
        }
        const listed = (await operator.json("run", ["jobs.list_job", one])) as Record<string, unknown>;
        assert.deepEqual([listed.Function, listed.Target, listed.User], ["cmd.run", minionId, userInfo().username]);
      }
    }
  });

  function rowsIn(table: string, jid: string): number {
    return server.sql(`SELECT jid FROM ours.${table} WHERE jid = '${jid}'`).length;
  }
});

function lineOf({ tag, data }: Row): string {
  return `{"data": ${data}, "tag": "${tag}"}`;
}

/** The numbers of `df` change, and with them its columns. */
function withoutTimes(row: string): string {
  return row
    .replace(/"_stamp": "[^"]+"/, '"_stamp": "TIME"')
    .replace(/"ts": \d+/, '"ts": 0')
    .replaceAll(/"start_time": "[^"]+", "duration": [\d.]+/g, '"start_time": "TIME", "duration": 0')
    .replaceAll(/"Filesystem [^"]+"/g, '"DISKS"');
}
