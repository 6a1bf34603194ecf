/** The master's side of old rows in the database of jobs: when steps run, what is counted, and what the operator is told. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Logger } from "pino";
import { loadMasterConfig } from "../../../src/config/load.ts";
import type { ExpiredRows } from "../../../src/databases/expiry.ts";
import { expiryOptionsOf, JobExpiry } from "../../../src/master/upkeep/job-expiry.ts";
import type { LanePool } from "../../../src/workers/threads/lane-pool.ts";

const rows = (returns: number, isDone: boolean, fault?: string): ExpiredRows => ({
  ...{ jobs: 1, returns, events: 0, isDone, fault },
});

function opened(answers: readonly ExpiredRows[]) {
  const asked: object[] = [];
  const lines: string[] = [];
  const run = async (task: object) => {
    asked.push(task);
    return answers[asked.length - 1];
  };
  const note = (level: string) => (facts: { returns?: number; fault?: string }) =>
    void lines.push(`${level} ${facts.returns ?? facts.fault}`);
  const logger = { error: note("error"), info: note("info") } as unknown as Logger;
  const o = { keepSeconds: 60, archives: true, everyMs: 1_000 };
  return { expiry: new JobExpiry({ run } as unknown as LanePool, o, logger), asked, lines };
}

describe("old rows of the database of jobs", () => {
  it("leave in one round an interval, whose end is logged", async ({ mock }) => {
    let nowMs = 5_000;
    mock.method(performance, "now", () => nowMs);
    const { expiry, asked, lines } = opened([rows(7, false), rows(3, true), { ...rows(0, true), jobs: 0 }]);
    assert.deepEqual([await expiry.step(), await expiry.step(), await expiry.step()], [true, false, false]);
    assert.deepEqual(asked, Array(2).fill({ kind: "expire", keepSeconds: 60, archives: true }));
    assert.deepEqual(lines, ["info 10"]);
    nowMs += 1_000;
    await expiry.step();
    assert.equal(asked.length, 3);
    assert.deepEqual(lines, ["info 10"]);
    assert.deepEqual(expiry.counters, { jobs: 2, returns: 10, events: 0, failures: 0 });
  });

  it("stay after a failure until the next interval, and the failure is told once", async ({ mock }) => {
    let nowMs = 5_000;
    mock.method(performance, "now", () => nowMs);
    const { expiry, asked, lines } = opened([rows(7, false, "locked"), rows(0, false, "locked"), rows(1, true)]);
    for (const isDue of [true, false, true, true]) {
      if (isDue) nowMs += 1_000;
      assert.equal(await expiry.step(), false);
      if (asked.length < 3) assert.equal(expiry.status().fault, "locked");
    }
    assert.equal(asked.length, 3);
    assert.deepEqual([expiry.status().fault, expiry.status().returns, expiry.counters.failures], [undefined, 8, 2]);
    assert.deepEqual(
      lines.filter((line) => line.startsWith("error")),
      ["error locked"],
    );
  });

  it("leave only the tables of master_job_cache, and none with keep_jobs_seconds 0", () => {
    const optionsOf = (more: Readonly<Record<string, string | number>>) =>
      expiryOptionsOf(loadMasterConfig("/nowhere", { id: "m", ...more }));
    assert.deepEqual(optionsOf({ master_job_cache: "mysql", loop_interval: 7 }), {
      ...{ keepSeconds: 86_400, archives: false, everyMs: 7_000 },
    });
    assert.equal(optionsOf({ master_job_cache: "mysql", keep_jobs: 2 })?.keepSeconds, 7_200);
    assert.equal(optionsOf({ master_job_cache: "mysql", keep_jobs_seconds: 0 }), undefined);
    assert.equal(optionsOf({ ext_job_cache: "mysql" }), undefined);
    assert.equal(optionsOf({ ext_job_cache: "mysql", master_job_cache: "mysql" })?.keepSeconds, 86_400);
    assert.equal(optionsOf({}), undefined);
  });
});
