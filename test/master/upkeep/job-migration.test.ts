/** The master runs one migration at a time, tries again after faults, and ends it when it cannot go on. */
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import type { MasterConfig } from "../../../src/config/load.ts";
import type { MigrationAnswer, MigrationTask } from "../../../src/databases/migration/thread.ts";
import { migrationFailuresMax } from "../../../src/limits.ts";
import { JobMigration } from "../../../src/master/upkeep/job-migration.ts";

const counts = { passed: 0, jobs: 0, returns: 0, present: 0, leftOut: 0 };
const names = { from: "local_cache", to: "mysql" };

function progressOf(passed: number, isDone = false, leftOut: readonly string[] = []) {
  return {
    ...{ counts: { ...counts, passed }, named: [], leftOut, total: 9, spentMs: 1, isResumed: false, isDone },
  };
}

class Lane {
  readonly tasks: string[] = [];
  readonly answers: (MigrationAnswer | Error)[];

  constructor(...answers: readonly (MigrationAnswer | Error)[]) {
    this.answers = [...answers];
  }

  async run<Result>(task: object): Promise<Result> {
    const { what } = task as MigrationTask;
    this.tasks.push(what);
    if (what === "leave") return { progress: undefined, fault: undefined } as Result;
    const answer = this.answers.shift() ?? assert.fail("no further step was expected");
    if (answer instanceof Error) throw answer;
    return answer as Result;
  }
}

const good = (passed: number, isDone = false): MigrationAnswer => ({
  progress: progressOf(passed, isDone),
  fault: undefined,
});
const away: MigrationAnswer = { progress: undefined, fault: { message: "away", isPassing: true } };

describe("the migration of jobs in the master", () => {
  function open(parts: { readonly migrations?: Lane; readonly databases?: Lane; readonly cache?: string }) {
    const logger = { info: mock.fn(), warn: mock.fn(), error: mock.fn() };
    const config = { master_job_cache: parts.cache ?? "lmdb", "sqlite3.database": "" } as MasterConfig;
    const { migrations = new Lane(), databases } = parts;
    return { migration: new JobMigration({ config, databases, migrations, logger, retryMsMax: 1 }), logger };
  }

  async function toEnd(migration: JobMigration): Promise<void> {
    while (migration.status()?.state === "running") await new Promise((resolve) => setImmediate(resolve));
  }

  it("does its steps to the end, and closes what it opened", async () => {
    const migrations = new Lane(good(0), good(3), away, good(9, true));
    const { migration } = open({ migrations });
    await migration.start(names);
    assert.equal(migration.status()?.state, "running");
    await toEnd(migration);
    await migration.close();
    assert.deepEqual([migration.status()?.state, migration.status()?.progress?.counts.passed], ["done", 9]);
    assert.deepEqual(migrations.tasks, ["begin", "step", "step", "step", "leave"]);
  });

  it("writes the configured database in its own lane", async () => {
    const databases = new Lane(good(0), good(9, true));
    const { migration } = open({ databases, cache: "mysql" });
    await migration.start(names);
    await toEnd(migration);
    assert.equal(migration.status()?.state, "done");
  });

  it("goes on when the same one is asked for again while it runs", async () => {
    const { migration } = open({ migrations: new Lane(good(0), good(1), good(2, true)) });
    await migration.start(names);
    await migration.start(names);
    await toEnd(migration);
    assert.equal(migration.status()?.state, "done");
  });

  it("refuses a second one while one runs, and one that cannot begin", async () => {
    const { migration } = open({ migrations: new Lane(good(0), away, away) });
    await migration.start(names);
    await assert.rejects(migration.start({ from: "lmdb", to: "redis" }), /from local_cache to mysql is under way/);
    await migration.close();
    await assert.rejects(migration.start({ from: "lmdb", to: "redis" }), { code: "FUNCTION_FAILED", message: "away" });
    await assert.rejects(migration.start({ from: "lmdb", to: "lmdb" }), { code: "FUNCTION_FAILED" });
    assert.equal(migration.status()?.to, "mysql");
  });

  it("ends with the reason when it fails again and again, and names what was left out", async () => {
    const told = { ...good(1), progress: progressOf(1, false, ["job 1: damaged"]) };
    const { migration, logger } = open({
      migrations: new Lane(good(0), told, ...Array.from({ length: migrationFailuresMax }, () => away)),
    });
    await migration.start(names);
    await toEnd(migration);
    await migration.close();
    assert.deepEqual([migration.status()?.state, migration.status()?.fault], ["failed", "away"]);
    assert.deepEqual(logger.warn.mock.calls[0]?.arguments[0], { leftOut: ["job 1: damaged"] });
  });

  it("ends when the master stops", async () => {
    const { migration } = open({ migrations: new Lane(good(0), away, away) });
    await migration.start(names);
    await migration.close();
    assert.equal(migration.status()?.state, "failed");
  });
});
