import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RateOutcome, type SearchOptions, searchHighestRate } from "../../../bench/tune/search.ts";

const options: SearchOptions = { p99MsMax: 50, firstRate: 7_000, rateMin: 10, rateMax: 1_000_000, measurementsMax: 40 };

/** Latency of a queue: small at low rates, unbounded towards `capacity`. */
function queue(capacity: number, serviceMs = 2): (rate: number) => RateOutcome {
  return (rate) => {
    const room = 1 - rate / capacity;
    return room <= 0
      ? { p99Ms: 5_000, answeredShare: 0.6, isVoid: false }
      : { p99Ms: serviceMs / room, answeredShare: 1, isVoid: false };
  };
}

function recorded(outcome: (rate: number) => RateOutcome): {
  rates: number[];
  measure(rate: number): Promise<RateOutcome>;
} {
  const rates: number[] = [];
  return {
    rates,
    measure: (rate) => {
      rates.push(rate);
      return Promise.resolve(outcome(rate));
    },
  };
}

describe("searchHighestRate", () => {
  // 2 ms / (1 - rate / 10,000) is 50 ms at 9,600.
  for (const firstRate of [10, 500, 7_000, 9_600, 40_000, 900_000]) {
    it(`finds the rate from ${firstRate} on, within a tenth and below`, async () => {
      const { measure } = recorded(queue(10_000));
      const found = await searchHighestRate({ ...options, firstRate }, measure);
      assert.ok((found.rate ?? 0) > 8_700 && (found.rate ?? 0) <= 9_600, `${found.rate}`);
      assert.ok((found.failedRate ?? 0) > 9_600);
      assert.deepEqual([found.limit, found.isComplete], ["objective", true]);
      assert.ok((found.p99Ms ?? 99) <= 50);
    });
  }

  it("measures again where the latency is near the objective, and goes by the middle one", async () => {
    const { rates, measure } = recorded((rate) => {
      const before = rates.filter((other) => other === rate).length;
      // Every second run that would pass is disturbed to slightly above the objective.
      return { p99Ms: rate <= 5_000 ? (before === 2 ? 60 : 45) : 500, answeredShare: 1, isVoid: false };
    });
    const found = await searchHighestRate({ ...options, firstRate: 4_000 }, measure);
    assert.ok((found.rate ?? 0) > 4_600 && (found.rate ?? 0) <= 5_000);
    assert.equal(rates.filter((rate) => rate === 4_000).length, 3);
    assert.equal(rates.filter((rate) => rate === 6_000).length, 1);
  });

  it("does not count void runs: it repeats them, and says that the generator was the limit", async () => {
    const { rates, measure } = recorded((rate) => ({ p99Ms: 3, answeredShare: 1, isVoid: rate > 3_000 }));
    const found = await searchHighestRate({ ...options, firstRate: 2_000 }, measure);
    assert.equal(found.limit, "generator");
    assert.ok((found.rate ?? 0) > 2_700 && (found.rate ?? 0) <= 3_000);
    assert.equal(rates.filter((rate) => rate === 2_000 * 1.5).length, 1);
    assert.ok(
      rates.filter((rate) => rate > 3_000).every((rate, _, all) => all.filter((other) => other === rate).length === 2),
    );
  });

  it("goes on after a single void run as if it had not been", async () => {
    let isFirst = true;
    const { measure } = recorded((rate) => {
      const outcome = queue(10_000)(rate);
      if (!isFirst) return outcome;
      isFirst = false;
      return { ...outcome, isVoid: true };
    });
    const found = await searchHighestRate(options, measure);
    assert.equal(found.limit, "objective");
    assert.ok((found.rate ?? 0) > 8_700);
  });

  it("counts what was not answered as too slow", async () => {
    const { measure } = recorded((rate) => ({ p99Ms: 4, answeredShare: rate > 1_000 ? 0.97 : 1, isVoid: false }));
    const found = await searchHighestRate(options, measure);
    assert.ok((found.rate ?? 0) > 900 && (found.rate ?? 0) <= 1_000);
  });

  it("says so when no rate meets the objective, or every one does", async () => {
    const slow = await searchHighestRate(options, () =>
      Promise.resolve({ p99Ms: 900, answeredShare: 1, isVoid: false }),
    );
    assert.deepEqual([slow.rate, slow.failedRate, slow.limit], [undefined, 10, "objective"]);
    const fast = await searchHighestRate(options, () => Promise.resolve({ p99Ms: 1, answeredShare: 1, isVoid: false }));
    assert.deepEqual([fast.rate, fast.failedRate, fast.limit], [1_000_000, undefined, "range"]);
  });

  it("keeps to its number of measurements, and tells after each what is known", async () => {
    const { rates, measure } = recorded(queue(10_000));
    const told: (number | undefined)[] = [];
    const found = await searchHighestRate({ ...options, firstRate: 100, measurementsMax: 4 }, measure, ({ rate }) =>
      told.push(rate),
    );
    assert.equal(rates.length, 4);
    assert.deepEqual([found.isComplete, found.isUsedUp], [false, true]);
    assert.deepEqual(told, rates);
    assert.equal(found.rate, rates.at(-1));
  });

  it("stops when measuring does", async () => {
    const stop = new Error("stopped");
    await assert.rejects(
      searchHighestRate(options, () => Promise.reject(stop)),
      stop,
    );
  });
});
