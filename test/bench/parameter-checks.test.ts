import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scenarios } from "../../bench/scenarios/registry.ts";
import { readParameters } from "../../bench/scenarios/run.ts";
import { uncheckedOf } from "../../bench/scenarios/setup/parameter-checks.ts";

describe("a scenario's parameters", () => {
  for (const scenario of scenarios) {
    it(`of ${scenario.name} are checked each by each, and the defaults can be used as they are`, () => {
      assert.deepEqual(uncheckedOf(scenario.defaults), []);
      // Whether the value fits on this machine is not checked here.
      assert.deepEqual(readParameters({ ...scenario, demand: () => {} }, {}), scenario.defaults);
      for (const [name, value] of Object.entries(scenario.defaults)) {
        if (typeof value !== "number") continue;
        assert.throws(() => readParameters(scenario, { [name]: -1 }), { code: "USAGE" }, name);
        assert.throws(() => readParameters(scenario, { [name]: 1e15 }), { code: "USAGE" }, name);
      }
    });
  }
});
