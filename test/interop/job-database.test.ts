/** Jobs in MariaDB beside Salt's: both masters write the same rows, and Salt's tools find what ours wrote. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
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

/** Words after `salt MINION`. */
const jobs: readonly (readonly string[])[] = [
  ["test.ping"],
  ["cmd.run", "df -h"],
  ["cmd.run", "echo bad; exit 3", "--metadata={ticket: OPS-3}"],
  ["test.arg", "1", "a'b\"c\\d", "k={x: [1.5, null, grüße]}"],
  ["test.echo", "grüße \u{1f9c2}"],
  ["test.exception", "on purpose"],
  ["test.nosuch"],
  ["state.single", "test.fail_without_changes", "name=x"],
];

describe("jobs in MariaDB beside Salt's", { skip: salts.skip || (mariadbMissing() ?? false), timeout: 400_000 }, () => {
  const bed = new TestBed();
  let server: MariadbServer;
  const masters = new Map<Side, MasterUnderTest>();

  before(async () => {
    // Only this client: the folder has newer versions of packages that Salt brings itself.
    const clients = join(bed.folder, "clients");
    mkdirSync(clients);
    symlinkSync(join(salts.folder, "pymysql"), join(clients, "pymysql"));
    process.env.PYTHONPATH = clients;
    server = await MariadbServer.start();
    server.sql(`CREATE DATABASE ours CHARACTER SET utf8mb4; GRANT ALL ON ours.* TO '${server.user}'@'%'`);
    for (const name of Object.values(databases)) {
      const database = openDatabase(server.config({ "mysql.db": name }), "mysql");
      await database.createSchema();
      await database.close();
    }
    await Promise.all([
      openSite("theirs", { master_job_cache: "mysql" }),
      openSite("ours", { master_job_cache: "mysql" }),
    ]);
  });
  after(async () => {
    await bed.close();
    await server?.remove();
  });

  async function openSite(name: Side, more: Readonly<Record<string, string>>): Promise<void> {
    if (release === undefined) return;
    const maker = name === "theirs" ? release : "ours";
    const options = { ...server.options(), "mysql.db": databases[name] };
    const master = await MasterUnderTest.create(bed, maker, { auto_accept: true, ...options, ...more }, name);
    await master.start();
    masters.set(name, master);
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
      const returned = `SELECT fun, jid, \`return\`, id, success, full_ret FROM ${database}.salt_returns WHERE jid = '${jid}'`;
      await until(`${side}: ${words.join(" ")}`, () => server.sql(returned).length > 0);
      const loads = server.sql(`SELECT jid, \`load\` FROM ${database}.jids WHERE jid = '${jid}'`);
      found.push([...loads, ...server.sql(returned)].map((row) => withoutTimes(row.replaceAll(jid, "JID"))));
    }
    return found;
  }

  bed.it("a master of ours writes the rows of Salt's", async () => {
    const theirs = await rowsOf("theirs");
    const ours = await rowsOf("ours");
    for (const [index, words] of jobs.entries()) assert.deepEqual(ours[index], theirs[index], words.join(" "));
    assert.ok(theirs.every((rows) => rows.length === 2));
  });

  bed.it("Salt's salt-run finds a job of ours in the database", async () => {
    const { jid } = await new Operator("ours", masterOf("ours")).job(minionId, ["test.echo", "found"]);
    await until("the row", () => rowsIn("salt_returns", jid) === 1);
    const salt = new Operator(release ?? "ours", masterOf("ours"));
    assert.deepEqual(await salt.json("run", ["jobs.lookup_jid", jid]), { [minionId]: "found" });
    const listed = (await salt.json("run", ["jobs.list_job", jid])) as Record<string, unknown>;
    assert.deepEqual([listed.Function, listed.Target, listed.User], ["test.echo", minionId, userInfo().username]);
  });

  function rowsIn(table: string, jid: string): number {
    return server.sql(`SELECT jid FROM ours.${table} WHERE jid = '${jid}'`).length;
  }
});

/** The numbers of `df` change, and with them its columns. */
function withoutTimes(row: string): string {
  return row
    .replace(/"_stamp": "[^"]+"/, '"_stamp": "TIME"')
    .replace(/"ts": \d+/, '"ts": 0')
    .replaceAll(/"start_time": "[^"]+", "duration": [\d.]+/g, '"start_time": "TIME", "duration": 0')
    .replaceAll(/"Filesystem [^"]+"/g, '"DISKS"');
}
