import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { sampleDatabase } from "../../../src/master/metrics/sources.ts";
import { databases } from "../../../src/master/metrics/store-copies.ts";
import type { JobShipping } from "../../../src/master/upkeep/job-shipping.ts";
import { readExposition, sumOfSamples } from "./exposition.ts";

const counters = { jobs: 3, returns: 40, present: 2, refused: 1, gone: 5, batches: 7, failures: 6 };
const expiry = { counters: { jobs: 11, returns: 12, events: 13, failures: 14 } };
const shipping = { counters, expiry, waiting: 9, isReachable: 1, lagSeconds: () => 12 } as unknown as JobShipping;

function textOf(isConfigured: boolean): string {
  const samples = new Samples();
  sampleDatabase(samples, Object.assign(shipping, { isConfigured }));
  return samples.text();
}

describe("the metrics of the database of jobs", () => {
  it("show how far it is behind, and what became of each row", () => {
    const families = readExposition(textOf(true));
    assert.deepEqual([...families.keys()].sort(), Object.keys(databases).sort());
    for (const outcome of ["jobs", "returns", "present", "refused", "gone"] as const)
      assert.equal(sumOfSamples(families, "saltworks_database_rows_total", { outcome }), counters[outcome]);
    assert.equal(sumOfSamples(families, "saltworks_database_failures_total"), 6);
    assert.equal(sumOfSamples(families, "saltworks_database_waiting"), 9);
    assert.equal(sumOfSamples(families, "saltworks_database_lag_seconds"), 12);
    assert.equal(sumOfSamples(families, "saltworks_database_up"), 1);
    for (const rows of ["jobs", "returns", "events"] as const)
      assert.equal(sumOfSamples(families, "saltworks_database_removed_total", { rows }), expiry.counters[rows]);
    assert.equal(sumOfSamples(families, "saltworks_database_remove_failures_total"), 14);
  });

  it("are absent without a database", () => {
    assert.equal(textOf(false), "");
  });
});
