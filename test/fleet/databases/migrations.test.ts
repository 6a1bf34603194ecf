/** A Salt master's jobs migrate into each database, and the master is killed twice on the way: each row is there, once. */
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { jidAt } from "../../../src/wire/jid.ts";
import { mariadbMissing } from "../../databases/mariadb.ts";
import { saltJobDirectory, writeSaltJob, writeSaltJobs } from "../../databases/migration/salt-jobs.ts";
import { postgresMissing } from "../../databases/postgresql.ts";
import { skipWithout } from "../../services/service.ts";
import { type ExpectedJob, MigrationSite, migratedDatabases } from "./migrations.ts";

const jobCount = 400;
const minionsOfEach = 2;
const password = "who-may-migrate-1";
const asUser = (name: string) => ["-a", "file", `--username=${name}`, `--password=${password}`];
const skip = mariadbMissing() ?? postgresMissing() ?? skipWithout("redis-server", "redis-cli");

describe("migrations of jobs", { skip, timeout: 600_000 }, () => {
  let site: MigrationSite;
  let jobs: readonly ExpectedJob[];
  let returnCount: number;

  before(async () => {
    site = await MigrationSite.open();
    const users = join(site.master.directory, "users");
    writeFileSync(users, `operator:${password}\nrestricted:${password}\n`);
    const grants = { operator: ["@jobs"], restricted: [".*", "@wheel", { "@runner": ["jobs.list_jobs"] }] };
    await site.restartWith({ external_auth: { file: { "^filename": users, ...grants } } });
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`minion${index}`, index]));
    const large = { jid: jidAt(Date.now(), 7), returns: { big: "x".repeat(5 * 1024 * 1024) } };
    const wide = { jid: jidAt(Date.now(), 8), returns: many };
    for (const job of [large, wide]) writeSaltJob(site.master.cacheDirectory, job);
    jobs = [...writeSaltJobs(site.master.cacheDirectory, jobCount, minionsOfEach), large, wide];
    // The return of the damaged request goes along.
    returnCount = jobs.reduce((sum, { returns }) => sum + Object.keys(returns).length, 1);
    const damaged = writeSaltJob(site.master.cacheDirectory, { jid: jidAt(Date.now(), 9), returns: { a: 1 } });
    writeFileSync(join(damaged, ".load.p"), "\xc1");
  });
  after(() => site?.close());

  for (const name of migratedDatabases) {
    it(`into ${name}, killed twice`, async () => {
      if (name !== "redis") {
        const refused = await site.run("jobs.migrate", "from=local_cache", `to=${name}`);
        assert.equal(refused.exitCode, 1);
        assert.match(refused.stdout, /jobs\.create_schema/);
      }
      assert.equal((await site.run("jobs.create_schema", `name=${name}`)).exitCode, 0);
      for (const part of [1 / 3, 2 / 3]) await site.migrateAndKill("local_cache", name, Math.floor(jobCount * part));
      const summary = await site.migrate("local_cache", name);
      assert.deepEqual([summary.State, summary.Skipped], ["done", 1]);
      assert.match(summary["Skipped-first"]?.[0] ?? "", /\.load\.p/);
      assert.deepEqual(site.rows(name), [jobs.length, returnCount]);
      await site.compare(name, jobs);
      const again = await site.migrate("local_cache", name);
      assert.deepEqual([again["Jobs-written"], again["Returns-written"]], [0, 0]);
      assert.deepEqual(site.rows(name), [jobs.length, returnCount]);
    });
  }

  it("is refused to a user without the grant, with a code and the function's name", async () => {
    site.mariadb.sql("TRUNCATE salt.jids; TRUNCATE salt.salt_returns");
    const words = ["jobs.migrate", "from=local_cache", "to=mysql"];
    const refused = await site.run(...asUser("restricted"), ...words);
    const text = 'jobs.migrate was refused: Authentication failure of type "eauth" occurred for user restricted.';
    assert.deepEqual([refused.exitCode, JSON.parse(refused.stdout)], [1, text]);
    assert.equal((await site.run(...asUser("restricted"), "jobs.list_jobs")).exitCode, 0, "the login is right");
    assert.deepEqual(site.rows("mysql"), [0, 0]);
  });

  it("by a user with the grant, into the configured database, killed on the way", async () => {
    await site.restartWith({ master_job_cache: "mysql" });
    await site.migrateAndKill("local_cache", "mysql", Math.floor(jobCount / 2));
    const {
      State,
      Skipped,
      "Skipped-first": named,
    } = await site.migrate("local_cache", "mysql", ...asUser("operator"));
    assert.deepEqual([State, Skipped], ["done", 1], named?.join("\n"));
    await site.compare("mysql", jobs);
    assert.deepEqual(site.rows("mysql"), [jobs.length, returnCount]);
  });

  it("into LMDB, killed twice, and from LMDB into Salt's files", async () => {
    for (const part of [1 / 3, 2 / 3]) await site.migrateAndKill("local_cache", "lmdb", Math.floor(jobCount * part));
    await site.migrate("local_cache", "lmdb");
    await site.compare("lmdb", jobs);
    const files = join(site.master.cacheDirectory, "jobs");
    const former = `${files}.former`;
    cpSync(files, former, { recursive: true });
    rmSync(files, { recursive: true });
    await site.migrateAndKill("lmdb", "local_cache", Math.floor(jobCount / 2));
    await site.migrate("lmdb", "local_cache");
    for (const { jid, returns } of jobs) {
      const [now, then] = [site.master.cacheDirectory, former].map((cache) =>
        saltJobDirectory(cache, jid).replace(`${former}/jobs`, former),
      );
      for (const id of Object.keys(returns)) {
        const file = join(id, "return.p");
        assert.ok(readFileSync(join(now ?? "", file)).equals(readFileSync(join(then ?? "", file))), `${jid} ${id}`);
      }
      assert.ok(readFileSync(join(now ?? "", ".load.p")).equals(readFileSync(join(then ?? "", ".load.p"))), jid);
    }
  });

  it("refuses a database that is away by name, and goes on when it is back", async () => {
    await site.mariadb.kill();
    const refused = await site.run("jobs.migrate", "from=local_cache", "to=mysql");
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stdout, /mysql:\/\/127\.0\.0\.1/);
    await site.mariadb.run();
    assert.equal((await site.migrate("redis", "mysql")).State, "done");
    assert.deepEqual(site.rows("mysql"), [jobs.length, returnCount]);
    assert.ok(!existsSync(join(site.master.cacheDirectory, "migrations", "redis-mysql.json")));
  });
});
