import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listTargets, pingTargets } from "../../../src/master/presence/ping-targets.ts";
import { matches } from "../../../src/target/match.ts";
import { parseTarget } from "../../../src/target/parse.ts";

const sorted = (ids: readonly string[]) => [...ids].sort();

/** Ids that the targets name, each as often as a target names it, as our own reader of targets matches them. */
function named(targets: ReturnType<typeof pingTargets>, fleet: readonly string[]): string[] {
  const none = { grains: new Map(), pillar: new Map() };
  return targets.flatMap((target) => {
    if (target.kind === "list") return target.ids;
    const parsed = parseTarget("pcre", target.expression);
    return fleet.filter((id) => matches(parsed, { id, ...none }));
  });
}

describe("pingTargets", () => {
  const fleet = sorted(Array.from({ length: 3_000 }, (_, index) => `db${index}.example.com`));

  it("names a whole fleet by its common beginning", () => {
    assert.deepEqual(pingTargets(new Set(fleet), fleet, 5_000), [{ kind: "pcre", ids: fleet, expression: ".*" }]);
  });

  it("names each id of a range once, and no other id of the fleet, in few bytes", () => {
    const silent = fleet.slice(490, 1_780);
    const targets = pingTargets(new Set(silent), fleet, 400);
    const all = named(targets, fleet);
    assert.equal(new Set(all).size, all.length);
    assert.ok(silent.every((id) => all.includes(id)));
    // Blocks at both ends have others.
    assert.ok(all.length < silent.length + 2 * 128);
    const bytes = targets.map((target) => (target.kind === "pcre" ? target.expression.length : 1_500));
    assert.ok(bytes.reduce((sum, count) => sum + count, 0) < 1_500);
    assert.deepEqual(sorted(targets.flatMap(({ ids }) => ids)), sorted(all));
    for (const target of targets) assert.ok(target.kind === "pcre" && target.ids.length <= 400);
  });

  it("lists ids that are alone among others", () => {
    const silent = fleet.filter((_, index) => index % 50 === 0);
    assert.deepEqual(pingTargets(new Set(silent), fleet, 2_000), [{ kind: "list", ids: silent }]);
  });

  it("tells an id from others that begin with it, and escapes what has a meaning in expressions", () => {
    const ids = sorted(["a", "a.b", "a.b+c", "axb", ...Array.from({ length: 126 }, (_, index) => `b(${index})`), "c"]);
    const silent = new Set(ids.slice(0, 128));
    const targets = pingTargets(silent, ids, 2_000);
    assert.deepEqual(sorted(named(targets, ids)), sorted([...silent]));
    const first = pingTargets(new Set(ids), ids, 1);
    assert.equal(first[0]?.kind === "pcre" && first[0].expression, "a$");
  });

  it("joins small ranges up to the minions that may answer at once", () => {
    const blocks = Array.from({ length: 12 }, (_, block) => fleet.slice(block * 256, block * 256 + 128));
    const targets = pingTargets(new Set(blocks.flat()), fleet, 700);
    assert.equal(targets.length, 3);
    const all = named(targets, fleet);
    assert.deepEqual(sorted(all), sorted(blocks.flat()));
  });

  it("names ids with spaces and letters of other languages as minions match them", () => {
    const ids = sorted(Array.from({ length: 300 }, (_, index) => `Ünï\u00a0b ${index}.é-x`));
    const silent = ids.slice(0, 150);
    const all = named(pingTargets(new Set(silent), ids, 2_000), ids);
    assert.ok(silent.every((id) => all.includes(id)));
    assert.ok(all.length <= 256);
  });

  it("lists ids whose beginnings could end within a character", () => {
    const ids = sorted(Array.from({ length: 64 }, (_, index) => `\u{1f600}${index}`));
    assert.deepEqual(pingTargets(new Set(ids), ids, 2_000), [{ kind: "list", ids }]);
  });
});

describe("listTargets", () => {
  it("names each minion, at most as many as may answer at once", () => {
    assert.deepEqual(listTargets(["a", "b", "c"], 2), [
      { kind: "list", ids: ["a", "b"] },
      { kind: "list", ids: ["c"] },
    ]);
  });
});
