/** A recorded workload: its text is a workload file that can be read, keeps the means of what was recorded, and says what is not known. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { distributionOf, workloadText } from "../../../bench/workload/recorded-file.ts";
import { type FunctionRecord, recordFrom } from "../../../bench/workload/recorded-jobs.ts";
import { operationsIn } from "../../../bench/workload/stage-schedule.ts";
import type { JobCacheReader } from "../../../src/store/jobs/job-cache.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { readWorkloadText as read } from "./read-text.ts";

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
    const last = operations.at(-1);
    assert.ok(last?.kind === "job" && last.name === "other functions");
    // As none comes more often than others, the one with the most returned bytes.
    assert.equal(last.function, "f.f28");
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

describe("a recorded stage", () => {
  const none = { events: 0, mines: 0, mineReads: 0, pillars: 0, files: 0, auths: 0 };
  const rates = { seconds: 60, connected: 9, returns: 0, ...none };
  const textOf = (published: Map<string, FunctionRecord>, busiestHourFactor = 1, events = 0, seconds = 86_400) =>
    workloadText({
      ...{ master: "m", at, minions: 100 },
      jobs: { seconds, published, own: new Map(), busiestHourFactor, jobsLeftOut: 0 },
      rates: events > 0 ? { ...rates, events } : undefined,
    });

  it("is so long that each operation comes at least once", () => {
    const published = new Map([
      job(
        "test.ping",
        Array.from({ length: 48 }, () => 10),
      ),
    ]);
    const { operations, stages } = read(textOf(published, 4));
    const [ping] = operations;
    assert.ok(ping?.kind === "job");
    assert.equal(ping.rate, 0.000556);
    for (const stage of stages) assert.ok(operationsIn(ping.rate, stage) >= 1, stage.name);
    assert.deepEqual(
      stages.map(({ seconds }) => seconds),
      [1_799, 450],
    );
  });

  it("is at most an hour long, and its file says what will not come and what is left out", () => {
    const published = new Map([
      job(
        "state.apply",
        Array.from({ length: 10 }, () => 100),
      ),
      job("test.ping", [100]),
      job(
        "cmd.run",
        Array.from({ length: 500 }, () => 1),
      ),
    ]);
    const text = textOf(published);
    const { operations, stages } = read(text);
    assert.deepEqual(
      operations.map(({ name }) => name),
      ["state.apply", "cmd.run"],
    );
    assert.equal(stages[0]?.seconds, 3_600);
    assert.match(text, /^# Will not come, .* 3600 seconds long: state\.apply\.$/m);
    assert.match(text, /^# Left out, .* 0\.0001 a second: test\.ping\.$/m);
  });

  it("is shorter where it would have more operations than a run takes", () => {
    const published = new Map([
      job(
        "test.ping",
        Array.from({ length: 30 }, () => 10),
      ),
    ]);
    const [stage] = read(textOf(published, 1, 10_000)).stages;
    assert.ok(stage && stage.seconds < 900);
  });

  it("says that the busiest hour multiplies rates of another time, and where delays are not known", () => {
    const published = new Map([job("test.ping", [10, 10])]);
    published.set("cmd.run", { name: "cmd.run", targets: [1, 1], bytes: [1], delaysMs: [] });
    const text = textOf(published, 2, 5, 3_600);
    assert.match(text, /^# The busiest hour .* multiplies the rates from the metrics, too\.$/m);
    assert.match(text, /^# Delays are not known, and are 20\.\.500 ms, of: cmd\.run\.$/m);
    assert.doesNotMatch(textOf(published, 1, 5, 3_600), /multiplies/);
  });

  it("is refused where nothing was seen, with what was looked at", () => {
    assert.throws(() => textOf(new Map(), 1), {
      code: "USAGE",
      message: /nothing was seen in the job cache of 24\.0 hours/,
    });
    assert.throws(() => textOf(new Map([job("test.ping", [1])])), { code: "USAGE", message: /often enough/ });
  });
});

describe("recordFrom", () => {
  const nowMs = Date.UTC(2026, 10, 28, 12);
  const minute = (minutes: number) => nowMs - minutes * 60_000;
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${String(index).padStart(4, "0")}`);

  /** Each job expects all minions, of which some returned, each with a text as long as its number. */
  function cacheOf(timesMs: readonly number[], minions: readonly string[], returned = minions) {
    const read: string[] = [];
    const load = encode(new Map(Object.entries({ fun: "test.ping", tgt: "*" })), "bin");
    const jobs: Pick<JobCacheReader, "job" | "list" | "returns"> = {
      list: ({ limit }) => Promise.resolve(timesMs.map((atMs) => jidAt(atMs, 0)).slice(0, limit)),
      job: (jid) => Promise.resolve({ jid, load, minions: minions.toReversed() }),
      returns: (_, { after = "", limit }) => {
        const found = returned.filter((id) => id > after).slice(0, limit);
        read.push(...found);
        const body = (id: string) => encode(new Map([["return", "x".repeat(Number(id.slice(1)))]]), "bin");
        return Promise.resolve({
          returns: found.map((minionId) => ({ minionId, body: body(minionId) })),
          hasMore: true,
        });
      },
    };
    return { jobs, read };
  }

  const record = (jobs: ReturnType<typeof cacheOf>["jobs"], kept = {}) =>
    recordFrom(
      jobs,
      { keep_jobs_seconds: 86_400, keep_jobs_count: 0, ...kept },
      { hours: 24, nowMs, signal: new AbortController().signal, onJob: () => undefined },
    );

  it("counts over the hours that were asked for, and not only since the oldest job", async () => {
    const { jobs } = cacheOf([minute(5), minute(10)], ids(3));
    assert.equal((await record(jobs)).seconds, 86_400);
    assert.equal((await record(jobs, { keep_jobs_seconds: 7_200 })).seconds, 7_200);
    assert.equal((await record(jobs, { keep_jobs_seconds: 0 })).seconds, 86_400);
  });

  it("counts from the oldest job that was read where older ones are left out or gone", async () => {
    const { jobs } = cacheOf([minute(5), minute(10)], ids(3));
    assert.equal((await record(jobs, { keep_jobs_count: 2 })).seconds, 600);
    const many = cacheOf(
      Array.from({ length: 20_001 }, (_, index) => nowMs - 1_000 * (index + 1)),
      [],
    );
    const { jobsLeftOut, seconds } = await record(many.jobs);
    assert.deepEqual([jobsLeftOut, seconds], [1, 20_000]);
  });

  it("divides the busiest hour by the mean of all hours, of which the last may be a part", async () => {
    // Two jobs in the last hour and one in the half hour before: 2 by 3 / 1.5.
    const { jobs } = cacheOf([minute(1), minute(2), minute(80)], ids(3));
    assert.equal((await record(jobs, { keep_jobs_seconds: 5_400 })).busiestHourFactor.toFixed(3), "1.000");
    // Three in one hour and none in the half hour before: 3 by 3 / 1.5.
    const even = cacheOf([minute(1), minute(2), minute(3)], ids(3));
    assert.equal((await record(even.jobs, { keep_jobs_seconds: 5_400 })).busiestHourFactor.toFixed(3), "1.500");
  });

  it("samples returns of minions from the first to the last, and a bounded number", async () => {
    const { jobs, read } = cacheOf([minute(5)], ids(1_000));
    const { published } = await record(jobs);
    assert.equal(read.length, 50);
    assert.deepEqual([read[0], read.at(-1)], ["m0000", "m0980"]);
    const { bytes = [] } = published.get("test.ping") ?? {};
    assert.ok(Math.abs(bytes.reduce((sum, each) => sum + each, 0) / 50 - 490) < 10);
  });

  it("takes each return once, also where few of the minions have returned", async () => {
    const { jobs, read } = cacheOf([minute(5)], ids(1_000), ids(1_000).slice(700, 720));
    await record(jobs);
    assert.deepEqual(read, ids(1_000).slice(700, 720));
    const few = cacheOf([minute(5)], ids(7));
    await record(few.jobs);
    assert.deepEqual(few.read, ids(7));
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
