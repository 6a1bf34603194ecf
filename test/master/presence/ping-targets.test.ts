import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listTargets, pingTargets } from "../../../src/master/presence/ping-targets.ts";

const sorted = (ids: readonly string[]) => [...ids].sort();

/** Ids that the targets name, each as often as a target names it. */
function named(targets: ReturnType<typeof pingTargets>, fleet: readonly string[]): string[] {
  return targets.flatMap((target) =>
    target.kind === "list" ? target.ids : fleet.filter((id) => new RegExp(`^${target.expression}`).test(id)),
  );
}

describe("pingTargets", () => {
  const fleet = sorted(Array.from({ length: 3_000 }, (_, index) => `db${index}.example.com`));

  it("names a whole fleet by its common beginning", () => {
    assert.deepEqual(pingTargets(new Set(fleet), fleet, 5_000), [{ kind: "pcre", expression: ".*", minions: 3_000 }]);
  });

  it("names each id of a range once, and no other id of the fleet, in few bytes", () => {
    const silent = fleet.slice(490, 1_780);
    const targets = pingTargets(new Set(silent), fleet, 400);
    const all = named(targets, fleet);
    assert.equal(new Set(all).size, all.length);
    assert.ok(silent.every((id) => all.includes(id)));
    // Blocks at both ends have others.
    assert.ok(all.length < silent.length + 2 * 128);
    assert.ok(JSON.stringify(targets).length < 1_500);
    for (const target of targets) assert.ok(target.kind === "pcre" && target.minions <= 400);
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
