/**
 * Jobs that Salt 3007's own returner wrote migrate into each job cache, and the master is killed twice on the way
 * (`npm run test:soak -- 600 databases/migrations.soak`). SALTWORKS_MIGRATED_JOBS: how many, default 100,000. SALTWORKS_MIGRATED_INTO: into which of them.
 * Needs all databases and a Salt under `.salt-venvs`.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { mariadbMissing } from "../../databases/mariadb.ts";
import { postgresMissing } from "../../databases/postgresql.ts";
import { findRelease, type SaltRelease } from "../../interop/salt-releases.ts";
import { repositoryRoot } from "../../root.ts";
import { skipWithout } from "../../services/service.ts";
import { type ExpectedJob, MigrationSite, migratedDatabases } from "./migrations.ts";
import { tell } from "./tell.ts";

const jobCount = Number(process.env.SALTWORKS_MIGRATED_JOBS ?? 100_000);
const wanted = process.env.SALTWORKS_MIGRATED_INTO?.split(",");
const outputBytesMax = 1024 * 1024 * 1024;

const release = await findRelease("3007");
const missing = mariadbMissing() ?? postgresMissing() ?? skipWithout("redis-server", "redis-cli");
if (missing === undefined || missing === false) await main(release);
else {
  tell(missing);
  process.exitCode = 1;
}

async function main(salt: SaltRelease | undefined): Promise<void> {
  assert.ok(salt !== undefined, "Salt 3007 is not installed");
  const site = await MigrationSite.open();
  try {
    const script = join(repositoryRoot, "test/fleet/databases/salt-jobs.py");
    const text = execFileSync(salt.program("python"), [script, site.master.cacheDirectory, String(jobCount)], {
      ...{ encoding: "utf8", maxBuffer: outputBytesMax, stdio: ["ignore", "pipe", "inherit"] },
    });
    const jobs = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as ExpectedJob);
    const returnCount = jobs.reduce((sum, { returns }) => sum + Object.keys(returns).length, 0);
    tell(`${jobs.length} jobs with ${returnCount} returns are written by Salt`);
    for (const name of [...migratedDatabases, "lmdb" as const]) {
      if (wanted !== undefined && !wanted.includes(name)) continue;
      if (name !== "lmdb") await site.run("jobs.create_schema", `name=${name}`);
      const kills: boolean[] = [];
      for (const part of [1 / 3, 2 / 3])
        kills.push(await site.migrateAndKill("local_cache", name, Math.floor(jobCount * part)));
      const summary = await site.migrate("local_cache", name);
      if (name !== "lmdb") assert.deepEqual(site.rows(name), [jobs.length, returnCount]);
      await site.compare(name, jobs);
      const { Seconds, Skipped, "Rows-per-second": rate } = summary;
      const times = kills.filter((isUnderWay) => isUnderWay).length;
      tell(`${name}: each row once, killed ${times} times, ${Seconds} s, ${rate} rows/s, ${Skipped} skipped`);
    }
    tell("held");
  } finally {
    await site.close();
  }
}
