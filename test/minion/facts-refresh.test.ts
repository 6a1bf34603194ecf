import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { FactsRefresh } from "../../src/minion/facts-refresh.ts";
import type { MinionFacts } from "../../src/minion/functions/host.ts";
import type { ValueMap } from "../../src/wire/values.ts";

function prepare() {
  const state = {
    grains: new Map([["os", "one"]]) as ValueMap,
    pillars: 0,
    cleaned: [] as boolean[],
    isFailing: false,
    gate: Promise.resolve(),
    changes: [] as MinionFacts[],
  };
  const refresh = new FactsRefresh({
    log: pino({ level: "silent" }),
    collectGrains: async () => {
      await state.gate;
      return new Map(state.grains);
    },
    requestPillar: async (_grains, isCacheCleaned) => {
      if (state.isFailing) throw new Error("no master");
      state.pillars += 1;
      state.cleaned.push(isCacheCleaned);
      return new Map([["n", state.pillars]]);
    },
    onChange: (facts) => state.changes.push(facts),
  });
  return { refresh, state };
}

describe("FactsRefresh", () => {
  it("asks for the pillar only on request or when the grains have changed", async () => {
    const { refresh, state } = prepare();
    await refresh.collect();
    await refresh.fetchPillar();
    await refresh.renew();
    assert.equal(state.pillars, 1);
    await refresh.renew({ isPillarWanted: true, isCacheCleaned: true });
    assert.deepEqual([state.pillars, state.cleaned], [2, [false, true]]);
    state.grains = new Map([["os", "two"]]);
    await refresh.renew();
    assert.equal(state.pillars, 3);
    assert.deepEqual(refresh.current, { grains: new Map([["os", "two"]]), pillar: new Map([["n", 3]]) });
    assert.deepEqual(state.changes.at(-1), refresh.current);
  });

  it("joins requests that arrive during a renewal into one more", async () => {
    const { refresh, state } = prepare();
    let open = () => undefined as unknown;
    state.gate = new Promise<void>((resolve) => {
      open = resolve as () => undefined;
    });
    const wishes = [refresh.renew({ isPillarWanted: true })];
    await new Promise((resolve) => setImmediate(resolve));
    for (let count = 0; count < 5; count += 1) wishes.push(refresh.renew({ isPillarWanted: true }));
    open();
    await Promise.all(wishes);
    assert.equal(state.pillars, 2);
  });

  it("has changed grains at once, although a renewal under way collected without them, and asks for the pillar with them", async () => {
    const { refresh, state } = prepare();
    await refresh.collect();
    await refresh.fetchPillar();
    let open = () => undefined as unknown;
    state.gate = new Promise<void>((resolve) => {
      open = resolve as () => undefined;
    });
    const renewal = refresh.renew();
    refresh.setGrains({ set: new Map([["role", "web"]]), removed: ["os"] });
    assert.deepEqual(refresh.current.grains, new Map([["role", "web"]]));
    open();
    await renewal;
    assert.deepEqual(refresh.current.grains, new Map([["role", "web"]]));
    assert.equal(state.pillars, 2);
    state.grains = new Map([["role", "web"]]);
    await refresh.renew();
    assert.equal(state.pillars, 2, "the master has these grains");
  });

  it("keeps its facts if the master does not answer", async () => {
    const { refresh, state } = prepare();
    await refresh.collect();
    await refresh.fetchPillar();
    state.isFailing = true;
    await refresh.renew({ isPillarWanted: true });
    assert.deepEqual(refresh.current.pillar, new Map([["n", 1]]));
  });
});
