/** A recorded workload: its text is a workload file that can be read, keeps the means of what was recorded, and says what is not known. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readWorkload } from "../../../bench/workload/read.ts";
import { distributionOf, workloadText } from "../../../bench/workload/recorded-file.ts";
import type { FunctionRecord } from "../../../bench/workload/recorded-jobs.ts";

function read(text: string) {
  const directory = mkdtempSync(join(tmpdir(), "sw-recorded-"));
  try {
    const file = join(directory, "w.yaml");
    writeFileSync(file, text);
    return readWorkload(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const at = "2026-11-28T00:00:00.000Z";
const job = (name: string, targets: number[]): [string, FunctionRecord] => [
  name,
  { name, targets, bytes: [100, 200, 300], delaysMs: [5] },
];

describe("a recorded workload", () => {
  it("keeps rates, targets, sizes and the busiest hour", () => {
    const published = new Map([job("state.apply", [100, 100]), job("test.ping", [10, 30])]);
    const jobs = { seconds: 7_200, published, own: new Map(), busiestHourFactor: 2.5, jobsLeftOut: 0 };
    const { operations, stages, minions } = read(
      workloadText({ master: "m", at, minions: 100, jobs, rates: undefined }),
    );
    assert.equal(minions, 100);
    assert.deepEqual(
      stages.map(({ name, from }) => [name, from]),
      [
        ["mean", 1],
        ["busiest hour", 2.5],
      ],
    );
    const [apply, ping] = operations;
    assert.ok(apply?.kind === "job" && ping?.kind === "job");
    assert.deepEqual(apply.target, { kind: "share", share: 1 });
    assert.deepEqual(ping.target, { kind: "count", count: 20 });
    assert.ok(Math.abs(apply.rate - 2 / 7_200) < 1e-5);
  });

  it("has one operation for the many functions that come seldom", () => {
    const published = new Map(Array.from({ length: 40 }, (_, index) => job(`f.f${index}`, [index + 1])));
    const jobs = { seconds: 3_600, published, own: new Map(), busiestHourFactor: 1, jobsLeftOut: 3 };
    const text = workloadText({ master: "m", at, minions: 100, jobs, rates: undefined });
    const { operations } = read(text);
    assert.equal(operations.length, 12);
    assert.equal(operations.at(-1)?.name, "other functions");
    assert.match(text, /3 or more older jobs of that time were left out/);
    assert.match(text, /Events, mines, pillars, files and authentications are not known/);
  });

  it("of metrics alone has the rates that are not 0, and says that jobs are not known", () => {
    const none = { events: 0, mines: 0, mineReads: 0, pillars: 0, files: 0, auths: 0 };
    const rates = { seconds: 60, connected: 9, returns: 12.345, ...none, pillars: 2 };
    const text = workloadText({ master: "m", at, minions: 9, jobs: undefined, rates });
    assert.deepEqual(
      read(text).operations.map((one) => [one.kind, "rate" in one && one.rate]),
      [
        ["return", 12.3],
        ["pillar", 2],
      ],
    );
    assert.match(text, /the job cache was not read/);
  });
});

describe("distributionOf", () => {
  it("keeps the mean of the sample", () => {
    const sample = Array.from({ length: 1_000 }, (_, index) => index ** 2);
    const parts = distributionOf(sample)
      .split(",")
      .map((part) => part.split(":").map(Number.parseFloat));
    const mean = parts.reduce((sum, [value = 0, percent = 0]) => sum + (value * percent) / 100, 0);
    const wanted = sample.reduce((sum, value) => sum + value, 0) / sample.length;
    assert.ok(Math.abs(mean / wanted - 1) < 0.001, `${mean} ${wanted}`);
  });

  it("is one number where all are the same", () => {
    assert.equal(distributionOf([7, 7, 7]), "7");
    assert.equal(distributionOf([]), "0");
  });
});
