import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type MeteredEventReturns, sampleEventReturns } from "../../../src/master/metrics/event-returns.ts";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { eventReturns } from "../../../src/master/metrics/store-copies.ts";
import type { EventReturnStatus } from "../../../src/runners/contract/contract.ts";
import { readExposition, sumOfSamples } from "./exposition.ts";

const counters = { written: 40, present: 2, refused: 1, dropped: 5, lost: 3, batches: 7, failures: 6 };
const nats: EventReturnStatus = {
  ...{ name: "nats", place: "nats://db/salt.events", state: "failing", waiting: 9, waitingBytes: 900, counters },
  ...{ lagSeconds: 12, eventsPerSecond: 4, fault: "down", lastFault: "down", failingSeconds: 1, nextTrySeconds: 2 },
};
const mysql: EventReturnStatus = { ...nats, name: "mysql", state: "writing", waiting: 0, fault: undefined };

function textOf(isConfigured: boolean): string {
  const samples = new Samples();
  const returns: MeteredEventReturns = {
    ...{ isConfigured, handedBytes: 0, status: () => [nats, mysql] },
    counters: { handed: 100, dropped: 8, lost: 9, filtered: 10, unreadable: 11 },
  };
  sampleEventReturns(samples, returns);
  return samples.text();
}

describe("the metrics of the returners of events", () => {
  it("show how far each is behind, and what became of its events", () => {
    const families = readExposition(textOf(true));
    assert.deepEqual([...families.keys()].sort(), Object.keys(eventReturns).sort());
    const sum = (name: string, labels: Readonly<Record<string, string>>) => sumOfSamples(families, name, labels);
    for (const outcome of ["written", "present", "refused", "dropped", "lost"] as const)
      assert.equal(sum("saltworks_event_return_events_total", { returner: "nats", outcome }), counters[outcome]);
    assert.equal(sum("saltworks_event_return_waiting", { returner: "nats" }), 9);
    assert.equal(sum("saltworks_event_return_waiting_bytes", { returner: "nats" }), 900);
    assert.equal(sum("saltworks_event_return_lag_seconds", { returner: "nats" }), 12);
    assert.equal(sum("saltworks_event_return_failures_total", { returner: "nats" }), 6);
    assert.equal(sum("saltworks_event_return_up", { returner: "nats" }), 0);
    assert.equal(sum("saltworks_event_return_up", { returner: "mysql" }), 1);
    assert.equal(sum("saltworks_event_return_unwritten_total", { outcome: "dropped" }), 8);
    assert.equal(sum("saltworks_event_return_unwritten_total", { outcome: "filtered" }), 10);
  });

  it("are absent without event_return", () => {
    assert.equal(textOf(false), "");
  });
});
