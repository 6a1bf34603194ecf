import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { metrics } from "../../../src/master/metrics/table.ts";
import { Histogram } from "../../../src/workers/measures/histogram.ts";
import { readExposition, sumOfSamples } from "./exposition.ts";

describe("Samples", () => {
  it("writes kinds, meanings, labels and values in Prometheus' text format", () => {
    const samples = new Samples();
    samples.set("saltworks_refusals_total", { worker: "0", reason: 'a "quoted\\\nreason' }, 3);
    samples.set("saltworks_refusals_total", { worker: "1", reason: "token" }, 4);
    samples.set("saltworks_limit_max", { limit: "max_minions" }, Number.POSITIVE_INFINITY);
    const families = readExposition(samples.text());
    const refusals = families.get("saltworks_refusals_total");
    assert.equal(refusals?.kind, "counter");
    assert.equal(refusals?.help, metrics.saltworks_refusals_total.help);
    assert.deepEqual(refusals?.samples[0]?.labels, { worker: "0", reason: 'a \\"quoted\\\\\\nreason' });
    assert.equal(sumOfSamples(families, "saltworks_refusals_total"), 7);
    assert.equal(sumOfSamples(families, "saltworks_limit_max"), Number.POSITIVE_INFINITY);
  });

  it("writes a histogram's buckets as growing sums, with the count and the sum of all", () => {
    const histogram = new Histogram([1, 2, 4]);
    for (const value of [1, 1, 3, 100]) histogram.observe(value);
    const samples = new Samples();
    samples.histogram("saltworks_batch_items", { worker: "0" }, histogram.snapshot());
    const family = readExposition(samples.text()).get("saltworks_batch_items");
    assert.deepEqual(
      family?.samples.map(({ name, labels, value }) => [name.slice("saltworks_batch_items".length), labels.le, value]),
      [
        ["_bucket", "1", 2],
        ["_bucket", "2", 2],
        ["_bucket", "4", 3],
        ["_bucket", "+Inf", 4],
        ["_sum", undefined, 105],
        ["_count", undefined, 4],
      ],
    );
  });

  it("writes OpenMetrics, where counters' families and bounds of buckets have other names", () => {
    const samples = new Samples();
    samples.set("saltworks_jobs_total", { outcome: "published" }, 3);
    const histogram = new Histogram([1]);
    histogram.observe(0.5);
    samples.histogram("saltworks_batch_items", { worker: "0" }, histogram.snapshot());
    const lines = samples.text("openmetrics").split("\n");
    assert.deepEqual(
      lines.filter((line) => !line.startsWith("# HELP")),
      [
        "# TYPE saltworks_jobs counter",
        'saltworks_jobs_total{outcome="published"} 3',
        "# TYPE saltworks_batch_items histogram",
        'saltworks_batch_items_bucket{worker="0",le="1.0"} 1',
        'saltworks_batch_items_bucket{worker="0",le="+Inf"} 1',
        'saltworks_batch_items_sum{worker="0"} 0.5',
        'saltworks_batch_items_count{worker="0"} 1',
        "# EOF",
        "",
      ],
    );
    assert.ok(lines.includes(`# HELP saltworks_jobs ${metrics.saltworks_jobs_total.help}`));
  });

  it("gives the same as rows", () => {
    const samples = new Samples();
    samples.set("saltworks_minions", { state: "connected" }, 8);
    assert.deepEqual(samples.rows(), [["saltworks_minions", { state: "connected" }, 8]]);
  });
});

describe("the table of metrics", () => {
  it("names by Prometheus' habits: what only grows ends in _total, and units are base units", () => {
    const wrong = Object.entries(metrics).filter(([name, { kind }]) => {
      const isUnitFine = !/_(?:ms|us|ns|milliseconds|kilobytes|mb|percent)(?:_|$)/.test(name);
      return name.endsWith("_total") !== (kind === "counter") || !/^[a-z][a-z0-9_]+$/.test(name) || !isUnitFine;
    });
    assert.deepEqual(wrong, []);
  });
});
