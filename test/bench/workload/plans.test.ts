/** Plans of a workload: arrival times follow the ramp, jobs reach their targets, and returns are split by process without loss. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { splitReturns } from "../../../bench/fleet/storm/outcome.ts";
import { parseDistribution } from "../../../bench/load/distribution.ts";
import { seededRandom } from "../../../bench/load/random.ts";
import { drawSample } from "../../../bench/load/sample.ts";
import { JidSource, planJobs, planReturns } from "../../../bench/workload/jobs.ts";
import type { JobTarget } from "../../../bench/workload/schema.ts";
import { operationsIn, stageSchedule } from "../../../bench/workload/stage-schedule.ts";

const ids = Array.from({ length: 20 }, (_, index) => `sim-${index}`);

describe("stageSchedule", () => {
  for (const arrivals of ["constant", "poisson"] as const) {
    it(`${arrivals}: a ramp from nothing has a quarter of its operations in its first half`, () => {
      const stage = { seconds: 10, from: 0, to: 2 };
      const times = stageSchedule(400, stage, arrivals, 7);
      assert.equal(times.length, operationsIn(400, stage));
      assert.equal(times.length, 4_000);
      const inFirstHalf = times.filter((atMs) => atMs < 5_000).length;
      assert.ok(Math.abs(inFirstHalf - 1_000) < 120, String(inFirstHalf));
      assert.ok(times.every((atMs, index) => atMs >= (times[index - 1] ?? 0) && atMs <= 10_000));
    });
  }

  it("at an even rate constant arrivals have equal gaps", () => {
    assert.deepEqual([...stageSchedule(2, { seconds: 2, from: 1, to: 1 }, "constant", 1)], [0, 500, 1_000, 1_500]);
  });

  it("a falling ramp ends within its stage", () => {
    const times = stageSchedule(10, { seconds: 4, from: 1, to: 0 }, "constant", 1);
    assert.equal(times.length, 20);
    assert.ok((times.at(-1) ?? 0) <= 4_000);
  });
});

describe("planJobs", () => {
  const plan = (target: JobTarget, count: number, isListed = false) =>
    planJobs(
      {
        ...{ kind: "job", name: "job", rate: 1, function: "test.ping", target },
        bytes: parseDistribution("64..80"),
        delayMs: parseDistribution("0..5000"),
      },
      Float64Array.from({ length: count }, (_, index) => index * 1_000),
      {
        ids,
        everybody: { expression: "sim-*", kind: "glob" },
        isListed,
        jids: new JidSource(),
        random: seededRandom(1),
      },
    );

  it("expects returns of the minions that the glob names, after the publish and in the order of their times", () => {
    const { jobs, plan: planned } = plan({ kind: "glob", glob: "sim-1?" }, 2);
    assert.deepEqual(jobs[0]?.target, { expression: "sim-1?", kind: "glob" });
    assert.deepEqual(planned.expected[0]?.ids, ids.slice(10));
    assert.equal(planned.plannedMs.length, 20);
    assert.ok(planned.plannedMs.every((atMs, index) => atMs >= (planned.plannedMs[index - 1] ?? 0)));
    assert.ok(planned.plannedMs.every((atMs, index) => atMs >= (planned.returns.job[index] ?? 0) * 1_000));
    assert.ok(planned.returns.bytes.every((bytes) => bytes >= 64 && bytes <= 80));
  });

  it("names a glob's minions one by one on a master that has others, and refuses a glob of none", () => {
    const { jobs } = plan({ kind: "glob", glob: "*1" }, 1, true);
    assert.deepEqual(jobs[0]?.target, { expression: ["sim-1", "sim-11"], kind: "list" });
    assert.throws(() => plan({ kind: "glob", glob: "web*" }, 1), /'web\*' matches no simulated minion/);
  });

  it("draws other minions for each job of a share, and names them", () => {
    const { jobs, plan: planned } = plan({ kind: "share", share: 0.25 }, 8);
    assert.ok(planned.expected.every(({ ids: own }) => own.length === 5 && new Set(own).size === 5));
    assert.ok(new Set(planned.expected.map(({ ids: own }) => own.join())).size > 1);
    assert.deepEqual(jobs[3]?.target, { expression: planned.expected[3]?.ids, kind: "list" });
  });

  it("names the whole fleet by one glob, and gives each job an id of its own", () => {
    const { jobs } = plan({ kind: "share", share: 1 }, 50);
    assert.deepEqual(jobs[0]?.target, { expression: "sim-*", kind: "glob" });
    assert.equal(new Set(jobs.map(({ jid }) => jid)).size, 50);
  });
});

describe("planReturns", () => {
  it("expects whole rounds of the fleet, and the part of the last one that is planned", () => {
    const operation = { kind: "return", name: "r", rate: 1, function: "f", bytes: parseDistribution("64") } as const;
    const plannedMs = Float64Array.from({ length: 45 }, (_, index) => index);
    const { expected } = planReturns(operation, plannedMs, { ids, jids: ["a", "b", "c"], random: seededRandom(1) });
    const total = expected.reduce((sum, { jids, ids: own }) => sum + jids.length * own.length, 0);
    assert.equal(total, 45);
    assert.deepEqual(expected[1], { jids: ["c"], ids: ids.slice(0, 5) });
  });
});

describe("splitReturns", () => {
  it("gives each process the returns of its minions, which count from its first", () => {
    const returns = {
      job: Uint32Array.of(0, 0, 1, 1),
      minion: Uint32Array.of(3, 0, 2, 4),
      bytes: Uint32Array.of(10, 20, 30, 40),
    };
    const parts = splitReturns(returns, Float64Array.of(1, 2, 3, 4), [2, 3]);
    const plain = parts.map(({ returns: own, plannedMs }) => [
      ...[[...own.job], [...own.minion], [...own.bytes]],
      [...plannedMs],
    ]);
    assert.deepEqual(plain, [
      [[0], [0], [20], [2]],
      [
        [0, 1, 1],
        [1, 0, 2],
        [10, 30, 40],
        [1, 3, 4],
      ],
    ]);
  });
});

describe("drawSample", () => {
  it("draws the wanted number, each at most once, and each about as often as another", () => {
    const random = seededRandom(3);
    const times = new Array<number>(10).fill(0);
    for (let round = 0; round < 2_000; round += 1) {
      const drawn = drawSample(10, 3, random);
      assert.equal(new Set(drawn).size, 3);
      for (const index of drawn) times[index] = (times[index] ?? 0) + 1;
    }
    assert.ok(
      times.every((count) => count > 500 && count < 700),
      times.join(),
    );
  });
});
