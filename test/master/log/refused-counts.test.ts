import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RefusedCounts } from "../../../src/master/log/refused-counts.ts";

describe("RefusedCounts", () => {
  it("reports refusals since the last time, over all workers, and none twice", () => {
    const told: Readonly<Record<string, number>>[] = [];
    const refusals = new RefusedCounts((counts) => told.push(counts));
    refusals.note([{ stored: 4 }, { stored: 2, "refused.mac": 0 }]);
    refusals.note([{ "refused.version": 2 }, { "refused.version": 1, "refused.mac": 1 }]);
    refusals.note([{ "refused.version": 2 }, { "refused.version": 1, "refused.mac": 1 }]);
    refusals.note([{ "refused.version": 3 }, { "refused.version": 1, "refused.mac": 1 }]);
    assert.deepEqual(told, [{ version: 3, mac: 1 }, { version: 1 }]);
  });

  it("counts on when a replaced worker starts from nothing", () => {
    const told: Readonly<Record<string, number>>[] = [];
    const refusals = new RefusedCounts((counts) => told.push(counts));
    refusals.note([{ "refused.version": 9 }]);
    refusals.note([{ "refused.version": 2 }]);
    assert.deepEqual(told, [{ version: 9 }, { version: 2 }]);
  });
});
