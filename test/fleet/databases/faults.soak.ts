/**
 * Every fault of the database of jobs in storms of 1,000 minions, each fault a minute long (`npm run test:soak -- SECONDS databases/faults`). Goes round
 * until the time is over. Each fault comes at least once. Needs MariaDB, and root for its small disk.
 */
import { mariadbMissing } from "../../databases/mariadb.ts";
import { DatabaseStorm } from "./database-storm.ts";
import { databaseFaults, suffer } from "./faults.ts";
import { tell } from "./tell.ts";

const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const holdMs = 60_000;
const minionCount = 1_000;
const diskMegabytes = 2_048;

const missing = mariadbMissing();
if (missing === undefined) await main();
else {
  tell(missing);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const endMs = performance.now() + seconds * 1_000;
  const site = await DatabaseStorm.open({ minionCount, diskMegabytes });
  try {
    await site.run("jobs.create_schema");
    const faults = Object.entries(databaseFaults);
    for (let round = 0; round === 0 || performance.now() < endMs; round += 1) {
      for (const [name, fault] of faults) {
        if (round > 0 && performance.now() >= endMs) break;
        if (name === "disk full" && site.disk === undefined) {
          tell("disk full: left out, because only root can mount a small disk");
          continue;
        }
        const beganMs = performance.now();
        const jobs = site.jobCount;
        const { reason } = await suffer(site, fault, holdMs);
        const returns = (site.jobCount - jobs) * minionCount;
        const tookMs = performance.now() - beganMs;
        tell(
          `${name}: ${returns} returns acknowledged, each row once after ${(tookMs / 1_000).toFixed(0)} s: ${reason}`,
        );
        site.forgetJobs();
      }
    }
    tell(`held: ${site.jobCount * minionCount} returns, each acknowledged and in the database once`);
  } finally {
    await site.close();
  }
}
