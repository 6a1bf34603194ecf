/** Every scenario once, small, through the real programs: it returns a result, and its figures of correctness are right. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LatencyHistogram } from "../../../bench/load/histogram.ts";
import { type ParameterValues, type Point, type RunResult, resultSchema } from "../../../bench/results/schema.ts";
import { scenarios } from "../../../bench/scenarios/registry.ts";
import { runScenario } from "../../../bench/scenarios/run.ts";
import { noProgress } from "../../../bench/scenarios/scenario.ts";

const timeoutMs = 180_000;
/** No test asserts a speed, and most of each test's time is waiting. */
const scenariosAtOnce = 2;

function run(scenario: string, parameters: ParameterValues): Promise<RunResult> {
  return runScenario({
    scenario,
    parameters,
    master: { kind: "saltworks", workers: 2 },
    progress: noProgress,
    signal: AbortSignal.timeout(timeoutMs),
  });
}

/** Checks that hold for every point of every scenario, however busy the machine. */
function assertSound(result: RunResult): void {
  assert.equal(result.schema, resultSchema);
  assert.equal(result.machine.node, process.version);
  assert.equal(result.master.kind, "saltworks");
  assert.ok(result.points.length > 0);
  for (const point of result.points) {
    const { expected, accounted, missing } = point.correctness;
    assert.deepEqual({ accounted, missing }, { accounted: expected, missing: 0 }, point.label);
    for (const [name, operation] of Object.entries(point.operations)) {
      assert.equal(LatencyHistogram.decode(operation.histogram).count, operation.completed, `${point.label}: ${name}`);
    }
    for (const [name, values] of Object.entries(point.series.values)) {
      assert.equal(values.length, point.series.atMs.length, `${point.label}: ${name}`);
    }
    assert.ok(point.memory.rssBytes > 0 && point.cpu.totalMs > 0, point.label);
    for (const value of Object.values(point.figures)) assert.ok(Number.isFinite(value), point.label);
  }
}

/** Asserts no errors and no duplicates. */
function assertClean({ correctness, label }: Point): void {
  assert.deepEqual(
    { duplicates: correctness.duplicates, errors: correctness.errors },
    { duplicates: 0, errors: {} },
    label,
  );
}

type Small = { readonly parameters: ParameterValues; readonly check: (points: readonly Point[]) => void };

const small: Readonly<Record<string, Small>> = {
  "idle-hold": {
    parameters: { minions: 30, seconds: 2, jobs: 2 },
    check: ([idle]) => {
      assert.equal(idle?.correctness.expected, 60);
      const { rssBytes = 0, bareRssBytes = 0, rssAboveBareBytes } = idle?.figures ?? {};
      assert.ok(bareRssBytes > 0);
      assert.equal(rssAboveBareBytes, rssBytes - bareRssBytes);
    },
  },
  "ping-all": {
    parameters: { minions: 40, publishes: 3, warmUp: 1, processes: 2, delayMs: "0..20" },
    check: ([point]) => {
      assert.equal(point?.operations.return?.completed, 120);
      assert.equal(point?.operations.publishToLastReturn?.completed, 3);
    },
  },
  "return-storm": {
    parameters: { minions: 40, returns: 5, warmUp: 2, connections: 10, returnBytes: "0..5000" },
    check: ([point]) => {
      assert.equal(point?.operations.return?.completed, 200);
      assert.equal(point?.figures.repliesVerified, 200);
      assert.equal(point?.figures.returnEvents, 200);
      assert.ok((point?.cpu.byThreadMs.main ?? 0) > 0);
    },
  },
  "light-load": {
    parameters: { minions: 40, rate: 80, seconds: 2, warmUp: 2, warmSeconds: 1 },
    check: ([point]) => {
      assert.equal(point?.operations.return?.completed, 160);
      assert.equal(point?.figures.returnEvents, 160);
    },
  },
  "auth-storm": {
    parameters: { minions: 20, rounds: 2, warmUp: 1 },
    check: (points) => {
      assert.deepEqual(
        points.map(({ label }) => label),
        ["without token", "with token"],
      );
      for (const point of points) assert.equal(point.operations.auth?.completed, 40);
    },
  },
  "auth-beside-returns": {
    parameters: { minions: 20, rate: 100, seconds: 2, rounds: 3, warmUp: 2 },
    check: ([alone, beside]) => {
      assert.equal(alone?.operations.return?.completed, 200);
      assert.equal(beside?.operations.return?.completed, 200);
      assert.equal(beside?.operations.auth?.completed, 60);
    },
  },
  "restart-under-load": {
    parameters: { minions: 30, restarts: 1, spreadMs: 500 },
    check: ([point]) => {
      assert.equal(point?.figures.acknowledgedNotStored, 0);
      assert.ok((point?.figures.acknowledgedBeforeDown ?? 0) >= 10);
      assert.ok((point?.figures.downtimeMs ?? 0) > 0);
    },
  },
  "key-rotation": {
    parameters: { minions: 15, rotations: 1 },
    check: ([without, rotated]) => {
      assert.equal(without?.figures.reauths, 0);
      assert.ok((rotated?.figures.reauths ?? 0) >= 15);
    },
  },
  "slow-subscriber": {
    parameters: { minions: 20, returns: 5, warmUp: 1 },
    check: (points) =>
      assert.deepEqual(
        points.map(({ figures }) => figures.returnEvents),
        [100, 100],
      ),
  },
  "slow-pillar": {
    parameters: { minions: 10, rate: 50, seconds: 2, pillarSeconds: 0.3 },
    check: ([alone, beside]) => {
      assert.equal(alone?.operations.return?.completed, 100);
      assert.equal(beside?.operations.return?.completed, 100);
      assert.ok((beside?.figures.pillars ?? 0) > 0);
    },
  },
  reactions: {
    parameters: { minions: 10, rate: 50, seconds: 2, reactions: 100 },
    check: ([alone, beside]) => {
      assert.equal(alone?.operations.return?.completed, 100);
      assert.equal(beside?.operations.return?.completed, 100);
      assert.ok((beside?.figures.eventsFired ?? 0) > 0);
      assert.equal(beside?.figures.reactionsLost, 0);
    },
  },
  pillars: {
    parameters: { minions: 10, rounds: 2, warmUp: 1, askers: 4 },
    check: ([point]) => {
      const { completed, failed } = point?.operations.pillar ?? {};
      assert.deepEqual([completed, failed], [20, 0]);
    },
  },
  "mine-read": {
    parameters: { minions: 20, rate: 50, seconds: 1, readers: 5 },
    check: ([point]) => assert.equal(point?.operations.mine_get?.failed, 0),
  },
  "mixed-day": {
    parameters: {
      ...{ minions: 20, seconds: 2, warmSeconds: 1, returnRate: 50, mineRate: 10, eventRate: 10, pillarRate: 10 },
      authRate: 10,
    },
    check: ([point]) => {
      assert.deepEqual(Object.keys(point?.operations ?? {}), ["return", "mine_get", "event", "pillar", "auth"]);
      for (const operation of Object.values(point?.operations ?? {})) {
        assert.deepEqual([operation.failed, operation.timedOut], [0, 0]);
      }
    },
  },
  highstate: {
    parameters: { minions: 12, files: 40, states: 2, managed: 3, warmUp: 0 },
    check: ([point]) => {
      const each = point?.figures.requestsPerHighstate ?? 0;
      assert.equal(point?.operations.request?.completed, 12 * each);
      // Each return beside each request.
      assert.equal(point?.correctness.expected, 12 * (each + 1));
    },
  },
  "job-cache": {
    parameters: { batches: "16", writers: "1", drivers: "lmdb", returns: 1_600, minions: 20 },
    check: (points) => assert.equal(points.length, 1),
  },
  "targeting-100k": { parameters: { minions: 300, samples: 2, warmUp: 1, only: "grain" }, check: () => {} },
  growth: {
    parameters: { minions: 20, minutes: 0.05, rate: 100, cycleSeconds: 1 },
    check: ([point]) => assert.ok((point?.figures.looks ?? 0) >= 1),
  },
};

/** Scenarios whose correctness figures may be other than faults; each has a test of its own. */
const mayHaveErrors = new Set(["mine-read", "mixed-day"]);
/** A return that was under way when the master died comes again. */
const mayHaveDuplicates = new Set(["restart-under-load"]);

describe("scenarios", { concurrency: scenariosAtOnce }, () => {
  it("are all here", () => {
    assert.deepEqual(scenarios.map(({ name }) => name).sort(), Object.keys(small).sort());
  });

  it("say their question, and what each parameter is", () => {
    for (const { name, question, defaults, about } of scenarios) {
      assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
      assert.ok(question.endsWith("?"), name);
      assert.deepEqual(Object.keys(about).sort(), Object.keys(defaults).sort(), name);
    }
  });

  for (const [name, { parameters, check }] of Object.entries(small)) {
    it(`${name} answers, and every operation is accounted for`, { timeout: timeoutMs }, async () => {
      const result = await run(name, parameters);
      assertSound(result);
      for (const point of result.points) {
        if (!mayHaveErrors.has(name) && !mayHaveDuplicates.has(name)) assertClean(point);
      }
      check(result.points);
    });
  }

  for (const version of [0, 2]) {
    it(`return-storm speaks request version ${version}, at a rate`, { timeout: timeoutMs }, async () => {
      const given = { minions: 10, version, rate: 100, seconds: 1, warmUp: 1, arrivals: "poisson", processes: 2 };
      const result = await run("return-storm", given);
      assertSound(result);
      const [point] = result.points;
      assert.ok(point !== undefined);
      assertClean(point);
      assert.equal(point.operations.return?.completed, 100);
    });
  }

  it("refuse parameters that they do not have or cannot read, and fleets that do not fit", async () => {
    await assert.rejects(run("return-storm", { minion: 1 }), { code: "USAGE", message: /no parameter minion/ });
    await assert.rejects(run("return-storm", { minions: "many" }), { code: "USAGE", message: /takes a number/ });
    await assert.rejects(run("idle-hold", { minions: 600_000 }), { code: "QUEUE_FULL", message: /connections=\d+/ });
    await assert.rejects(run("no-storm", {}), { code: "USAGE", message: /return-storm/ });
  });
});
