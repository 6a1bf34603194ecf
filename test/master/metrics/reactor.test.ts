import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reactor } from "../../../src/master/metrics/content-table.ts";
import {
  type MeteredReactor,
  reactorCounters,
  sampleReactor,
  sampleReactorLimits,
} from "../../../src/master/metrics/reactor.ts";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { Histogram, secondsBounds } from "../../../src/workers/measures/histogram.ts";
import { readExposition, sumOfSamples } from "./exposition.ts";

const counts = { done: 4, unmatched: 3, failed: 2, dropped: 1 };

function metered(isOn = true): MeteredReactor {
  const times = { wait: new Histogram(secondsBounds), render: new Histogram(secondsBounds) };
  times.wait.observe(0.5);
  return {
    ...{ isOn, times, slowestSeconds: 2, waitingCount: 7, waitingBytes: 700 },
    counters: { taken: 10, own: 5, failed: 6, dropped: 8, timeouts: 9 },
    reactions: { callsWaiting: 11, counters: { local: counts, runner: counts, wheel: counts, caller: counts } },
  };
}

describe("the metrics of the reactor", () => {
  it("show what waits, and what became of events and reactions", () => {
    const samples = new Samples();
    sampleReactor(samples, metered());
    const families = readExposition(samples.text());
    assert.deepEqual([...families.keys()].sort(), Object.keys(reactor).sort());
    for (const [name, labels, value] of [
      ["events_total", { outcome: "taken" }, 10],
      ["events_total", { outcome: "dropped" }, 8],
      ["reactions_total", { kind: "wheel", outcome: "failed" }, 2],
      ["waiting", { what: "events" }, 7],
      ["waiting", { what: "calls" }, 11],
      ["waiting_bytes", {}, 700],
    ] as const)
      assert.equal(sumOfSamples(families, `saltworks_reactor_${name}`, labels), value, name);
  });

  it("count what the bounds dropped", () => {
    const limits = new Map<string, readonly (number | undefined)[]>();
    const config = { reactor_worker_hwm: 100, reactor_render_timeout: 5 };
    sampleReactorLimits((name, ...values) => limits.set(name, values), metered(), config);
    assert.deepEqual(limits.get("reactor_worker_hwm"), [11, 100, 8 + 4]);
    assert.deepEqual(limits.get("reactor_render_timeout"), [2, 5, 9]);
  });

  it("are among the counters of a master with a reactor only", () => {
    assert.deepEqual(reactorCounters(metered(false)), {});
    assert.equal(reactorCounters(metered())["runner.dropped"], 1);
  });
});
