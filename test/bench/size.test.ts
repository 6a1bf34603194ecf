/** Plans: laws find the coefficients that made their points, loads become rates, and needs grow with the fleet. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Amounts, amountsOf, busyOf, coldBatchesOf, freshSecondsOf } from "../../bench/size/amounts.ts";
import { fitBatchLaw, requestsPerBatch } from "../../bench/size/batch-law.ts";
import { readCalibration, shippedCalibration } from "../../bench/size/calibration.ts";
import { checkSpan, demandCheck, errorText, isWithin } from "../../bench/size/check.ts";
import { fitLaw, predict } from "../../bench/size/law.ts";
import { lawsOf } from "../../bench/size/laws.ts";
import {
  type FleetLoad,
  grown,
  jobsDefault,
  loadDefaults,
  meanRates,
  peakRates,
  readJob,
} from "../../bench/size/load.ts";
import { pingsOf } from "../../bench/size/pings.ts";
import { planOf } from "../../bench/size/plan.ts";
import { planText } from "../../bench/size/plan-text.ts";
import { slowdown } from "../../bench/size/speed.ts";
import { workloadYaml } from "../../bench/size/workload-file.ts";
import { workloadScenario } from "../../bench/workload/scenario.ts";
import { operationsIn } from "../../bench/workload/stage-schedule.ts";
import { sampleOperation, samplePoint } from "./sample-result.ts";
import { readWorkloadText } from "./workload/read-text.ts";

const nothing: Amounts = {
  ...{
    returns: 0,
    returnBytes: 0,
    events: 0,
    mineGets: 0,
    pillars: 0,
    pillarDepths: 0,
    auths: 0,
    authsAtOnce: 0,
    copies: 0,
  },
  ...{ batches: 0, coldBatches: 0 },
  ...{
    seconds: 0,
    freshSeconds: 0,
    minionSeconds: 0,
    masters: 1,
    minions: 0,
    connections: 0,
    busyMasters: 0,
    bulkMasters: 0,
  },
};
const load: FleetLoad = { minions: 1_000, jobs: jobsDefault, pillarMs: undefined, ...loadDefaults };
const calibration = readCalibration(shippedCalibration);
const laws = lawsOf(calibration);
const context = {
  ...{ laws, scale: { value: 1, low: 1, high: 1 }, cores: 2 },
  ...{ memoryBytes: 8e9, descriptorsMax: 1_048_576 },
};

describe("a law", () => {
  it("finds the coefficients that made its points", () => {
    const points = [1, 10, 100, 1_000].map((returns, index) => {
      const amounts = { ...nothing, returns, batches: returns / (index + 1) };
      return { amounts, value: 50 * returns + 400 * amounts.batches };
    });
    const law = fitLaw(["returns", "batches", "pillars"], points);
    assert.ok(law);
    assert.deepEqual(law.terms, ["returns", "batches"]);
    assert.ok(Math.abs((law.coefficients.returns ?? 0) - 50) < 0.01);
    assert.ok(Math.abs((law.coefficients.batches ?? 0) - 400) < 0.1);
    const { value, low, high } = predict(law, { ...nothing, returns: 200, batches: 10 });
    assert.ok(Math.abs(value - 14_000) < 5 && low <= value && high >= value && high - low < 50);
  });

  it("has no negative coefficient, and an interval as wide as its points scatter", () => {
    const points = [100, 90, 130, 80, 120].map((value, index) => ({
      amounts: { ...nothing, seconds: 1, minionSeconds: 1_000 * index },
      value,
    }));
    const law = fitLaw(["seconds", "minionSeconds"], points);
    assert.ok(law);
    for (const each of Object.values(law.coefficients)) assert.ok(each >= 0);
    const { value, low, high } = predict(law, { ...nothing, seconds: 1 });
    assert.ok(low < value * 0.95 && high > value * 1.05, `${low} ${value} ${high}`);
  });

  it("of nothing does not exist", () => {
    assert.equal(fitLaw(["returns"], [{ amounts: nothing, value: 0 }]), undefined);
  });
});

describe("the law of batches", () => {
  it("goes through its points, by the ratio of rates between them, and stays at its end", () => {
    const points = [
      { rate: 10, size: 2 },
      { rate: 1_000, size: 8 },
      { rate: 100, size: 4 },
    ];
    const law = fitBatchLaw(points);
    const size = (rate: number, workers = 1) => Number(requestsPerBatch(law, rate, workers).toFixed(6));
    for (const point of points) assert.equal(size(point.rate), point.size);
    assert.equal(size(10 ** 1.5), Number((2 ** 1.5).toFixed(6)));
    assert.equal(size(20, 2), 2, "each worker has its own batches");
    assert.equal(size(5), 1.5);
    assert.equal(size(1e6), 8);
    assert.ok(law.scatter < 1e-9);
    assert.ok(fitBatchLaw([...points, { rate: 101, size: 6 }]).scatter > 0.3);
    assert.throws(() => fitBatchLaw(points.slice(1, 2)), /too few points/);
  });
});

describe("presence pings", () => {
  it("ask each idle minion at most once in half a presence_timeout, and no minion that is never silent", () => {
    const idle = pingsOf(1_000, 0);
    assert.ok(Math.abs(idle.answers - 1_000 / 52.5) < 0.1);
    assert.equal(idle.copies, 1_000 / 52.5, "one publish to everybody");
    const busy = pingsOf(1_000, 1_000);
    assert.ok(busy.answers < 1e-6 && busy.copies < 1e-3);
  });

  it("ask neighbours of silent minions, too, the sooner the larger the fleet is", () => {
    const each = 0.1;
    const [small, large] = [2_000, 100_000].map((minions) => pingsOf(minions, minions * each));
    assert.ok(small && large);
    assert.ok(small.answers / 2_000 < 0.2 / 52.5, "named one by one");
    assert.ok(small.copyBytes > 1_000);
    assert.equal(large.answers, 100_000 / 52.5);
    assert.equal(large.copyBytes, 700);
  });

  it("come in some publishes of half a presence_timeout, however large the fleet is", () => {
    assert.equal(pingsOf(100_000, 0).copies, (100_000 * 8) / 52.5);
    assert.equal(pingsOf(1_000_000, 0).copies, (1_000_000 * 9) / 52.5);
  });
});

describe("amounts", () => {
  it("of batches grow slower than their rate, and of a fresh master end after 20 seconds", () => {
    assert.equal(coldBatchesOf(0, 10), 0);
    assert.ok(Math.abs(coldBatchesOf(160, 10) - 10 * 8) < 1e-9);
    assert.deepEqual([5, 20, 90].map(freshSecondsOf), [5, 20, 20]);
  });

  it("of a master's heaps are whole while it is fresh or busy, and a share with few requests later", () => {
    assert.equal(busyOf(0, 5), 0);
    assert.equal(busyOf(1, 20), 1);
    assert.equal(busyOf(50), 1);
    assert.equal(busyOf(10), 0.2);
    assert.equal(busyOf(10, 40), 0.5);
  });

  it("tell authentications that come all at once from others", () => {
    const auth = { ...sampleOperation(4), completed: 60 };
    const run = (scenario: string) => ({ scenario, minions: 10, point: samplePoint({ operations: { auth } }) });
    const [storm, day] = ["auth-storm", "mixed-day"].map((scenario) => amountsOf(run(scenario)));
    assert.deepEqual([storm?.auths, storm?.authsAtOnce], [0, 60]);
    assert.deepEqual([day?.auths, day?.authsAtOnce], [60, 0]);
  });
});

describe("a load", () => {
  it("becomes rates of the mean second and of the peak hour", () => {
    const jobs = [{ function: "state.apply", targetShare: 0.5, perDay: 86.4, bytes: "100" }];
    const mean = meanRates({ ...load, jobs, eventsPerDay: 86.4, minePutsPerDay: 0, pillarsPerDay: 0, peak: 4 });
    assert.equal(mean.returns.toFixed(6), "0.500000");
    assert.equal(mean.returnBytes.toFixed(6), "50.000000");
    assert.equal(mean.copies.toFixed(6), "1.000000");
    assert.equal(mean.events.toFixed(6), "1.000000");
    // Each state job asks for a pillar.
    assert.equal(mean.pillars, mean.returns);
    assert.equal(peakRates({ ...load, jobs, peak: 4 }).returns, 4 * mean.returns);
  });

  it("grows by the year", () => {
    assert.equal(grown(load, 0.3, 2).minions, 1_690);
  });

  it("is read from words, and refused with what is wrong", () => {
    const job = readJob("state.apply,target=25%,a-day=48,bytes=64:70%,4096:30%");
    assert.deepEqual(job, { function: "state.apply", targetShare: 0.25, perDay: 48, bytes: "64:70%,4096:30%" });
    assert.throws(() => readJob("state.apply"), /a-day is how often/);
    assert.throws(() => readJob("state.apply,a-day=2,target=200%"), /share of the fleet/);
    assert.throws(() => readJob("state.apply,a-day=2,size=3"), /'size' is not known/);
    assert.throws(() => readJob("state.apply,a-day=2,bytes=big"), /not a distribution/);
  });
});

describe("a plan from the shipped calibration", () => {
  it("has the pings of an idle fleet in its network and CPU, and authentications at once in their own law", () => {
    const idle = { ...load, minions: 20_000, jobs: [], eventsPerDay: 0, minePutsPerDay: 0, mineGetsPerDay: 0 };
    const none = { ...idle, pillarsPerDay: 0, authsPerDay: 0 };
    const { fromMasterBytesPerSecond, toMasterBytesPerSecond, busyCores, allAuthSeconds } = planOf(context, none).needs;
    const { copies, copyBytes, answers } = pingsOf(20_000, 0);
    assert.ok(Math.abs(fromMasterBytesPerSecond.value - copies * copyBytes) < 1);
    assert.ok(toMasterBytesPerSecond.value > answers * 600);
    assert.ok(busyCores.value > answers * 50e-6);
    const { authsAtOnce = 0 } = laws.of.cpuUs.coefficients;
    assert.ok(authsAtOnce > 0 && allAuthSeconds.value > (20_000 * authsAtOnce) / 1e6 / 64);
  });

  it("needs more of everything for more minions, and names what breaks first", () => {
    const [small, large] = [1_000, 50_000].map((minions) => planOf(context, { ...load, minions }).needs);
    assert.ok(small && large);
    for (const name of ["busyCores", "mainThread", "memoryBytes", "diskBytes", "syncsPerSecond"] as const) {
      assert.ok(large[name].value > small[name].value, name);
      assert.ok(small[name].low <= small[name].value && small[name].value <= small[name].high, name);
    }
    const { limits } = planOf(context, load);
    assert.deepEqual(
      limits.map(({ minions }) => minions),
      limits.map(({ minions }) => minions).sort((a, b) => a - b),
    );
    // Descriptors are 2 × minions + 1,024, whatever the load is.
    const descriptors = limits.find(({ name }) => name.includes("descriptors"));
    assert.ok(Math.abs((descriptors?.minions ?? 0) - 523_776) < 10_000, String(descriptors?.minions));
  });

  it("says where it extrapolates and where it is scaled", () => {
    const plan = planOf({ ...context, scale: { value: 2, low: 1.5, high: 2.5 } }, { ...load, minions: 900_000 });
    assert.match(plan.remarks.join("\n"), /900,000 connected minions are .* times the most that was calibrated/);
    assert.match(plan.remarks.join("\n"), /another processor/);
  });

  it("shows assumptions, laws and settings to copy", () => {
    const text = planText(planOf(context, load), laws, { calibration, path: "", isShipped: true });
    for (const word of [
      "A plan for 1,000 minions",
      "law cpuUs",
      "LimitNOFILE=",
      "net.core.somaxconn",
      "worker_threads: ",
    ])
      assert.ok(text.includes(word), word);
  });

  it("takes larger batches at higher rates, up to the calibrated ones", () => {
    const sizes = [0, 10, 100, 1_000].map((rate) => requestsPerBatch(laws.batch, rate, 1));
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => a - b),
    );
    assert.equal(requestsPerBatch(laws.batch, 1e9, 1), requestsPerBatch(laws.batch, laws.batch.rateMax, 1));
  });
});

describe("a plan's peak", () => {
  it("is a workload file with the rates of the peak hour", () => {
    const { minions, operations, stages } = readWorkloadText(workloadYaml(load, peakRates(load)));
    assert.equal(minions, 1_000);
    const [ping, apply] = operations;
    assert.ok(ping?.kind === "job" && apply?.kind === "job");
    assert.deepEqual(ping.target, { kind: "share", share: 1 });
    assert.ok(Math.abs(ping.rate / ((24 * 3) / 86_400) - 1) < 0.001);
    // A quarter of a highstate an hour is one of a quarter of the fleet.
    assert.deepEqual(apply.target, { kind: "share", share: 0.25 });
    assert.ok(Math.abs(apply.rate * 3_600 - 1) < 0.001);
    assert.deepEqual(
      operations.map(({ name }) => name),
      ["test.ping", "state.apply", "event", "mine", "mine_get", "pillar", "auth"],
    );
    for (const operation of operations)
      assert.ok("rate" in operation && stages[0] && operationsIn(operation.rate, stages[0]) >= 1, operation.name);
  });

  it("is a workload file that can be read for jobs of one function, fleets of any size and rare requests", () => {
    const job = { function: "state.apply", targetShare: 0.07, perDay: 30_000, bytes: "64" };
    const twice = { ...load, jobs: [job, { ...job, function: "auth" }, { ...job, bytes: "4096" }] };
    const { operations, stages } = readWorkloadText(workloadYaml(twice, peakRates(twice)));
    assert.deepEqual(
      operations.slice(0, 3).map((one) => [one.name, one.kind === "job" && one.function]),
      [
        ["state.apply", "state.apply"],
        ["auth 2", "auth"],
        ["state.apply 2", "state.apply"],
      ],
    );
    assert.ok((stages[0]?.seconds ?? 0) <= 3_600);
    for (const minions of [1, 30, 1_000_000]) {
      const sized = { ...load, minions };
      const scenario = workloadScenario(readWorkloadText(workloadYaml(sized, peakRates(sized))));
      assert.equal(scenario.defaults.minions, minions);
    }
    const rare = workloadYaml({ ...load, authsPerDay: 0.001 }, peakRates({ ...load, authsPerDay: 0.001 }));
    assert.match(rare, /^# Left out, as less than one comes in a stage: auth\.$/m);
    assert.equal(readWorkloadText(rare).operations.length, 6);
    const idle = { ...load, jobs: [], eventsPerDay: 0, minePutsPerDay: 0, mineGetsPerDay: 0, pillarsPerDay: 0 };
    assert.throws(() => workloadYaml({ ...idle, authsPerDay: 0 }, peakRates({ ...idle, authsPerDay: 0 })), {
      code: "USAGE",
      message: /nothing of this load/,
    });
  });

  it("is not checked where one return of each minion takes too long, and is told by when", () => {
    const seldom = { minions: 1_000, peak: 3 };
    assert.doesNotThrow(() => demandCheck(load, peakRates(load)));
    assert.throws(() => demandCheck(seldom, { returns: 0.2 }), {
      code: "USAGE",
      message: /one return of each minion takes 84 minutes, and a check at most 30: give --peak 9, or more jobs/,
    });
    assert.doesNotThrow(() => demandCheck({ ...seldom, peak: 9 }, { returns: 0.6 }));
    assert.deepEqual(checkSpan(load, { returns: 1_000 }), { rate: 1_000, rounds: 20, seconds: 20 });
  });

  it("is within the bound only if each figure is", () => {
    const row = (error: number) => ({ name: "CPU", predicted: 1 + error, measured: 1, error });
    assert.equal(isWithin([row(0.2), row(-0.25)]), true);
    assert.equal(isWithin([row(0.2), row(0.26)]), false);
    assert.equal(isWithin([]), false);
    assert.equal(errorText(-0.123), "−12.3 %");
  });
});

describe("a calibration", () => {
  it("that is not one is refused with its path", () => {
    assert.throws(() => readCalibration("/nowhere.json"), { code: "CONFIG_INVALID" });
  });

  it("is scaled by the speeds of both machines", () => {
    assert.equal(slowdown({ rsaUs: 200, hashUs: 8 }, { rsaUs: 100, hashUs: 4 }), 2);
  });
});
