import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type MinionData, openMinionData } from "../../../src/store/minions/data.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { MinionFacts } from "../../../src/workers/state/facts.ts";
import { forgetFacts } from "../../../src/workers/state/forget-facts.ts";

const packed = (value: Record<string, string>) => encode(value, "bin");

describe("forgetting what is kept of minions", () => {
  const folder = mkdtempSync(join(tmpdir(), "swf-"));
  let minions: MinionData;
  before(async () => {
    minions = openMinionData({ path: folder });
    for (const id of ["a", "b", "c"]) {
      await minions.putGrains(id, packed({ role: id }), packed({ tier: id }));
      await minions.putMine(id, packed({ one: id, two: id }));
      await minions.putSession(id, packed({ key: id }));
    }
  });
  after(async () => {
    await minions.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const nothing = { hasGrains: false, hasPillar: false, mine: [] };
  const forget = (facts: Partial<Parameters<typeof forgetFacts>[1]> & { ids: readonly string[] }) =>
    forgetFacts({ facts: new MinionFacts(minions, () => undefined), stores: { minions } }, { ...nothing, ...facts });
  const size = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : (decode(bytes) as ValueMap).size);

  it("leaves the other half of grains and pillar, and other minions", async () => {
    assert.equal(await forget({ ids: ["a", "stranger"], hasGrains: true }), 1);
    assert.deepEqual([size(minions.get("a")?.grains), size(minions.get("a")?.pillar)], [0, 1]);
    assert.deepEqual([size(minions.get("b")?.grains), size(minions.get("b")?.pillar)], [1, 1]);
    assert.equal(await forget({ ids: ["b"], hasPillar: true }), 1);
    assert.deepEqual([size(minions.get("b")?.grains), size(minions.get("b")?.pillar)], [1, 0]);
  });

  it("takes one function of a mine or the whole of it", async () => {
    assert.equal(await forget({ ids: ["a"], mine: ["one", "nosuch"] }), 1);
    assert.deepEqual([...(decode(minions.getMine("a") ?? packed({})) as ValueMap).keys()], ["two"]);
    assert.equal(await forget({ ids: ["a"], mine: ["nosuch"] }), 0);
    assert.equal(await forget({ ids: ["a", "b"], mine: "whole" }), 2);
    assert.deepEqual([minions.getMine("a"), minions.getMine("b")], [undefined, undefined]);
    assert.equal(size(minions.getMine("c")), 2);
  });

  it("forgets all facts of a minion, but keeps its session", async () => {
    assert.equal(await forget({ ids: ["c"], hasGrains: true, hasPillar: true, mine: "whole" }), 1);
    assert.equal(minions.get("c"), undefined);
    assert.ok(!minions.ids().includes("c"));
    assert.equal(size(minions.getSession("c")), 1);
  });
});
