import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Point } from "../../../bench/results/schema.ts";
import { noProgress } from "../../../bench/scenarios/scenario.ts";
import { chooseWorkers } from "../../../bench/tune/choose.ts";
import { remarksOn, type Tuning } from "../../../bench/tune/remarks.ts";
import { knobs, workerCounts } from "../../../bench/tune/settings.ts";
import { searchText, snippetText } from "../../../bench/tune/snippet.ts";
import { type Known, type Measurement, type TunePlan, Tuner } from "../../../bench/tune/tuner.ts";
import { predictPerSecond } from "../../../bench/tune/usl.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-tune-"));
after(() => rmSync(folder, { recursive: true }));

const quiet: Tuning = { otherShare: 0.02, otherShareMax: 0.1, endedEarly: undefined };
const plan: TunePlan = {
  workerCounts: [1, 2, 4, 8, 16],
  knobs,
  isQuick: false,
  repeats: 2,
  p99MsMax: 50,
  cores: 16,
  measurementsMax: 30,
};

/** A simulated master with known capacity by workers, known gain of each other setting, and the latency of a queue. */
function model(settings: Measurement["settings"]): number {
  const workers = predictPerSecond({ lambda: 5_000, sigma: 0.2, kappa: 0.005 }, settings.worker_threads ?? 5);
  const frames = settings.batch_max_frames === 1_024 ? 1.3 : 1;
  const flight = settings.batches_in_flight === 1 ? 0.6 : 1;
  return workers * frames * flight;
}

function answer({ label, step, settings, rate, repeat }: Measurement): Point {
  const capacity = model(settings) * (repeat === 1 ? 1 : 1.02);
  const room = rate === undefined ? 0.1 : Math.max(0.0005, 1 - rate / capacity);
  const perSecond = rate === undefined ? capacity : Math.min(rate, capacity);
  const operation = { ...anyOperation, perSecond, percentilesUs: { ...anyOperation.percentilesUs, p99: 3_600 / room } };
  const usPerOperation = settings.batch_linger_us === 10_000 ? 180 : 300;
  return samplePoint({
    label,
    parameters: { ...settings, step, repeat, rate: rate ?? 0 },
    operations: { return: operation },
    cpu: { totalMs: 1, usPerOperation, byThreadMs: { main: 1 } },
    figures: { generatorCpuUsPerReturn: 100 },
  });
}

const anyOperation = sampleOperation(1);

type Tuned = { known: Known; asked: Measurement[] };

async function tune(measure: (m: Measurement) => Point = answer, change: Partial<TunePlan> = {}): Promise<Tuned> {
  const asked: Measurement[] = [];
  const tuner = new Tuner(
    { ...plan, ...change },
    {
      measure: (measurement) => {
        asked.push(measurement);
        return Promise.resolve(measure(measurement));
      },
      progress: noProgress,
      onKnown: () => undefined,
    },
  );
  return { known: await tuner.run(), asked };
}

function snippetOf(known: Known): string {
  const remarks = remarksOn(known, plan, quiet);
  return snippetText(sampleResult(), { ...known, p99MsMax: plan.p99MsMax, remarks });
}

describe("Tuner", () => {
  it("takes the fewest workers that nearly reach the best, leaves a default only for more, and finds the rate", async () => {
    const { known } = await tune();
    const values = Object.fromEntries([...known.choices].map(([name, { value }]) => [name, value]));
    assert.deepEqual(values, {
      // 16 workers have the highest throughput, 15,400/s; 8 reach 97 % of it.
      worker_threads: 8,
      batch_max_frames: 1_024,
      batch_max_bytes: 1_048_576,
      batches_in_flight: 2,
      // The delay saves 40 % of the CPU and the objective is met. The shorter delay is as good.
      batch_linger_us: 10_000,
    });
    // 3.6 ms / (1 - rate / capacity) is 50 ms at 93 % of the capacity.
    const capacity = model(values) * 1.02;
    const rate = known.search?.rate ?? 0;
    assert.ok(rate > 0.82 * capacity && rate < 0.97 * capacity, `${rate} of ${capacity}`);
    assert.equal(known.search?.limit, "objective");
  });

  it("goes through the values forth and back, each with the settings that are chosen by then", async () => {
    const { asked } = await tune();
    const workers = asked.filter(({ step }) => step === "workers");
    assert.deepEqual(
      workers.map(({ settings, repeat }) => [settings.worker_threads, repeat]),
      [
        [1, 1],
        [2, 1],
        [4, 1],
        [8, 1],
        [16, 1],
        [16, 2],
        [8, 2],
        [4, 2],
        [2, 2],
        [1, 2],
      ],
    );
    const later = asked.filter(({ step }) => step === "batches_in_flight");
    assert.ok(later.every(({ settings }) => settings.worker_threads === 8 && settings.batch_max_frames === 1_024));
    const light = asked.filter(({ step }) => step === "batch_linger_us");
    assert.ok(light.length > 0 && light.every(({ rate }) => rate !== undefined && rate < 8_000));
  });

  it("does not count void runs: repeats each once, and proposes nothing from them", async () => {
    const isVoid = { cpuShare: 1, loopDelayP99Ms: 1, lateSends: 0, isVoid: true, voidReasons: ["it was busy"] };
    const { known, asked } = await tune((m) => ({ ...answer(m), generator: isVoid }));
    assert.equal(known.choices.size, 0);
    assert.equal(known.search, undefined);
    assert.equal(asked.length, 2 * plan.workerCounts.length * plan.repeats);
    assert.equal(new Set(asked.map((m) => JSON.stringify(m))).size, asked.length);
  });

  it("keeps what is known when it is stopped", async () => {
    let known: Known | undefined;
    const tuner = new Tuner(plan, {
      measure: (m) => (m.step === "batches_in_flight" ? Promise.reject(new Error("stop")) : Promise.resolve(answer(m))),
      progress: noProgress,
      onKnown: (now) => {
        known = now;
      },
    });
    await assert.rejects(tuner.run(), /stop/);
    assert.ok(known);
    assert.deepEqual([...known.choices.keys()], ["worker_threads", "batch_max_frames", "batch_max_bytes"]);
    assert.match(remarksOn(known, plan, quiet).join(" "), /Not decided: batches_in_flight, batch_linger_us\./);
  });

  it("does not leave a default for what one run alone says, unless it is far better", async () => {
    const slightly = (m: Measurement): Point => {
      const point = answer(m);
      const gain = m.settings.batch_max_frames === 64 ? 1.15 : 1;
      return { ...point, operations: { return: { ...anyOperation, perSecond: 10_000 * gain } } };
    };
    const { known } = await tune(slightly, { isQuick: true, repeats: 1 });
    assert.equal(known.choices.get("batch_max_frames")?.value, 256);
    assert.match(known.choices.get("batch_max_frames")?.reason ?? "", /noise is unknown/);
  });
});

const sample = (value: number, perSecond: number) => ({ value, perSecond, cpuUs: 60, p99Ms: 5 });

describe("chooseWorkers", () => {
  it("takes fewer workers where more make no measurable difference, and more where they do", () => {
    const noisy = [sample(1, 1_000), sample(1, 1_150), sample(2, 1_130), sample(2, 1_200)];
    assert.equal(chooseWorkers(noisy, 8)?.value, 1);
    const steady = [sample(1, 1_070), sample(1, 1_080), sample(2, 1_160), sample(2, 1_170)];
    assert.equal(chooseWorkers(steady, 8)?.value, 2);
    // A loss of a quarter is chosen by no amount of noise.
    const wild = [sample(1, 600), sample(1, 1_000), sample(2, 1_100), sample(2, 1_500)];
    assert.equal(chooseWorkers(wild, 8)?.value, 2);
    assert.equal(chooseWorkers([], 8), undefined);
  });
});

describe("snippetText", () => {
  it("is a master.d file that the master loads without a warning, and that sets what was chosen", async () => {
    const { known } = await tune();
    const text = snippetOf(known);
    mkdirSync(join(folder, "master.d"));
    writeFileSync(join(folder, "master.d", "tuned.conf"), text);
    const config = loadMasterConfig(folder);
    assert.deepEqual([...config.warnings], []);
    assert.deepEqual([...config.inert], []);
    const table = config as unknown as Record<string, unknown>;
    for (const [name, { value }] of known.choices) assert.equal(table[name], value, name);
    assert.ok(known.choices.size >= 4);
  });

  it("gives a reason and its trust above each value, in lines that fit", async () => {
    const { known } = await tune();
    const text = snippetOf(known);
    for (const name of known.choices.keys())
      assert.match(text, new RegExp(`\\(trust:\\s(?:#\\s)?\\w+\\)\\n${name}: \\d+\\n`));
    assert.match(text.replaceAll("\n# ", " "), /8 answered [\d,]+ returns\/s, 9\d(?:\.\d)? % of the [\d,]+\/s of 16/);
    assert.match(text.replaceAll("\n# ", " "), /The load generator shared the 16 cores and took 2\d % of the CPU/);
    assert.ok(text.split("\n").every((line) => line.length <= 110));
  });

  it("sets nothing that the repeats do not decide, and says why", () => {
    const choice = chooseWorkers([sample(1, 600), sample(1, 1_000), sample(2, 1_100), sample(2, 1_500)], 8);
    assert.ok(choice);
    const known: Known = { points: [], choices: new Map([["worker_threads", choice]]), search: undefined };
    const text = snippetOf(known);
    assert.deepEqual(
      text.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
      [],
    );
    const plain = text.replaceAll("\n# ", " ");
    assert.match(plain, /Not decided: repeats of one value differ by 66\.7 %\. worker_threads: 2\n/);
    assert.match(plain, /The repeats differ too much to decide: worker_threads\./);
    assert.match(plain, /To be surer: saltworks tune --repeats 6, on a machine with nothing else to do\./);
  });

  it("stays a comment whatever a text holds", () => {
    const hostile = "a\nworker_threads: 99\r\n# b";
    const choice = { value: 2, reason: hostile, trust: "low" } as const;
    const machine = { ...sampleResult().machine, cpu: hostile };
    const text = snippetText(
      { ...sampleResult(), machine },
      { choices: new Map([["worker_threads", choice]]), search: undefined, p99MsMax: 50, remarks: [hostile] },
    );
    const settings = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
    assert.deepEqual(settings, ["worker_threads: 2"]);
  });
});

describe("searchText", () => {
  const found = {
    rate: 4_000,
    p99Ms: 31,
    failedRate: 4_300,
    limit: "objective",
    isComplete: true,
    isUsedUp: false,
    measurements: 9,
  } as const;
  it("says what was met and what was not, and when the generator was in the way", () => {
    assert.equal(searchText(found, 50), "4,000 returns/s keep the 99th percentile (31 ms) below 50 ms; 4,300 do not.");
    assert.match(searchText({ ...found, limit: "generator" }, 50), /the load generator was the limit/);
    assert.match(
      searchText({ ...found, failedRate: undefined, limit: "range" }, 50),
      /no rate that was tried missed it/,
    );
    assert.match(searchText({ ...found, rate: undefined }, 50), /No rate kept/);
    assert.match(searchText({ ...found, rate: undefined, limit: "generator" }, 50), /No rate could be judged/);
    assert.match(searchText({ ...found, isComplete: false }, 50), /ended early, after 9 measurements\)/);
    const usedUp = { ...found, isComplete: false, isUsedUp: true };
    assert.match(searchText(usedUp, 50), /ended early: all 9 measurements that it may make were used up\)/);
  });
});

describe("remarksOn", () => {
  it("warns of a busy machine, of void runs, of missing returns and of a quick run", () => {
    const missing = { expected: 10, accounted: 8, missing: 2, duplicates: 0, errors: {} };
    const points = [samplePoint({ correctness: missing })];
    const known = { points, choices: new Map(), search: undefined };
    const text = remarksOn(known, { ...plan, isQuick: true }, { ...quiet, otherShare: 0.43 }).join("\n");
    assert.match(text, /busy when the tuner began: other programs took 43 % of its CPU time/);
    assert.match(text, /2 returns are missing/);
    assert.match(text, /A quick run/);
  });

  it("says that a tuning ended early, and why", () => {
    const known = { points: [samplePoint()], choices: new Map(), search: undefined };
    const text = remarksOn(known, plan, { ...quiet, endedEarly: "Ctrl-C" }).join("\n");
    assert.match(text, /^Ended early, after 1 run: Ctrl-C\.$/m);
    assert.doesNotMatch(remarksOn(known, plan, quiet).join("\n"), /Ended early|machine was busy/);
  });

  it("says of which load each setting is, whatever else it says", () => {
    const text = remarksOn({ points: [], choices: new Map(), search: undefined }, plan, quiet).join("\n");
    assert.match(text, /storm of returns decides.*light load decides batch_linger_us.*working day.*mixed-day/);
  });
});

describe("workerCounts", () => {
  it("tries few and all the way, with four in a quick run", () => {
    assert.deepEqual(workerCounts(4, false), [1, 2, 3, 4]);
    assert.deepEqual(workerCounts(16, false), [1, 2, 3, 4, 6, 8, 12, 16]);
    assert.deepEqual(workerCounts(10, false), [1, 2, 3, 4, 6, 8, 10]);
    assert.deepEqual(workerCounts(16, true), [1, 3, 8, 16]);
    assert.deepEqual(workerCounts(1, true), [1]);
  });
});
