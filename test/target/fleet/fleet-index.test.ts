import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matchesExpected } from "../../../src/target/expected.ts";
import type { Datum, DatumMap, Facts } from "../../../src/target/facts.ts";
import type { Bitmap } from "../../../src/target/fleet/bitmap.ts";
import { FleetIndex } from "../../../src/target/fleet/fleet-index.ts";
import type { Wanted } from "../../../src/target/fleet/path-store.ts";
import { parseTarget, type Target } from "../../../src/target/parse.ts";
import { seedFromClock } from "../../wire/random.ts";
import { fleet, parseOrNobody, readGolden } from "../fleet.ts";
import { Random, randomExpression, randomFacts } from "./random-targets.ts";

/** A fleet whose facts change, the index that follows the changes, and the decision for each minion alone. */
class Fleet {
  readonly facts = new Map<string, Facts | undefined>();
  readonly index: FleetIndex;
  reads = 0;
  /** The minion whose next read fails. */
  failing = "";

  constructor(initial: readonly [string, Facts | undefined][]) {
    for (const [id, facts] of initial) this.facts.set(id, facts);
    this.index = new FleetIndex(
      { part: (id, wanted) => this.#part(id, wanted), whole: (id) => this.facts.get(id) },
      this.facts.keys(),
    );
  }

  found(target: Target | undefined): string[] {
    if (target?.masterTree === undefined) return [];
    return idsOf(this.index, finish(this.index.match(target.masterTree)));
  }

  asked(target: Target | undefined): string[] {
    if (target === undefined) return [];
    return [...this.facts].flatMap(([id, facts]) => (matchesExpected(target, id, facts) ? [id] : [])).sort();
  }

  put(id: string, facts: Facts | undefined): void {
    const isNew = !this.facts.has(id);
    this.facts.set(id, facts);
    if (isNew) this.index.add(id);
    else this.index.refresh(id);
  }

  remove(id: string): void {
    this.facts.delete(id);
    this.index.remove(id);
  }

  #part(id: string, wanted: Wanted) {
    this.reads += 1;
    if (id === this.failing) {
      this.failing = "";
      throw new Error("a read failed");
    }
    const facts = this.facts.get(id);
    if (facts === undefined) return undefined;
    return { grains: picked(facts.grains, wanted.grains), pillar: picked(facts.pillar, wanted.pillar) };
  }
}

function picked(data: DatumMap, wanted: Wanted["grains"]): DatumMap {
  return wanted === "all" ? data : new Map([...data].filter(([key]) => wanted.has(key)));
}

function finish(steps: Generator<void, Bitmap>): Bitmap {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function idsOf(index: FleetIndex, minions: Bitmap): string[] {
  const ids: string[] = [];
  minions.forEach((minion) => {
    ids.push(index.idOf(minion));
  });
  return ids.sort();
}

const randomFleet = (random: Random, count: number) =>
  new Fleet(
    Array.from({ length: count }, (_, at) => [
      `m${at}`,
      random.chance(0.1) ? undefined : randomFacts(random, `m${at}`),
    ]),
  );

describe("FleetIndex", () => {
  it("finds in the recorded fleet what each recorded decision of Salt's own matchers says", () => {
    type Decision = { kind: string; expr: string; expected: string[] };
    const { targets } = readGolden("decisions.json") as { targets: Decision[] };
    const recorded = new Fleet(fleet.map((facts) => [facts.id, facts]));
    let compared = 0;
    for (const { kind, expr } of targets) {
      const target = parseOrNobody(kind, expr);
      assert.deepEqual(recorded.found(target), recorded.asked(target), `${kind} ${expr}`);
      compared += 1;
    }
    assert.ok(compared > 300);
  });

  it("decides as asking each minion does, over random fleets, targets, refreshes, removals and additions", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    let matched = 0;
    for (let round = 0; round < 40; round += 1) {
      const minions = randomFleet(random, 24);
      let nextId = 24;
      for (let step = 0; step < 120; step += 1) {
        const { kind, expression, delimiter } = randomExpression(random);
        const target = parseOrNobody(kind, expression, delimiter);
        const expected = minions.asked(target);
        const message = `seed ${seed} round ${round} step ${step}: ${kind} ${JSON.stringify(expression)} ${delimiter}`;
        assert.deepEqual(minions.found(target), expected, message);
        matched += expected.length;
        const id = random.pick([...minions.facts.keys()]);
        const change = random.below(6);
        if (change === 0) minions.put(id, randomFacts(random, id));
        if (change === 1) minions.put(id, undefined);
        if (change === 2) minions.remove(id);
        if (change <= 2)
          minions.put(`m${nextId++}`, random.chance(0.2) ? undefined : randomFacts(random, `m${nextId}`));
      }
    }
    assert.ok(matched > 10_000, `only ${matched} matches: the targets are too strange to show anything`);
  });

  it("reads each minion once for all paths of a target, and not again until it is refreshed", () => {
    const factsOf = (id: string, os: string): Facts => {
      const app = new Map<Datum, Datum>([["role", "web"]]);
      return { id, grains: new Map<Datum, Datum>([["os", os]]), pillar: new Map<Datum, Datum>([["app", app]]) };
    };
    const minions = new Fleet(Array.from({ length: 100 }, (_, at) => [`m${at}`, factsOf(`m${at}`, "Debian")]));
    const target = parseTarget("compound", "G@os:Debian and I@app:role:web or not P@os:Cent.*");
    assert.equal(minions.found(target).length, 100);
    assert.equal(minions.reads, 100);
    minions.found(target);
    minions.found(parseTarget("grain", "os:*"));
    assert.equal(minions.reads, 100);
    minions.put("m3", factsOf("m3", "CentOS"));
    assert.equal(minions.found(target).length, 99);
    assert.equal(minions.reads, 101);
  });

  it("finds a minion whose first read failed, whether it was there before, came later or has changed", () => {
    const factsOf = (id: string, os: string): Facts => ({ id, grains: new Map([["os", os]]), pillar: new Map() });
    const fleet = new Fleet([
      ["a", factsOf("a", "Debian")],
      ["b", factsOf("b", "Debian")],
    ]);
    const target = parseOrNobody("grain", "os:Debian");
    const foundAfterFault = (id: string): string[] => {
      fleet.failing = id;
      assert.throws(() => fleet.found(target), /a read failed/);
      return fleet.found(target);
    };
    assert.deepEqual(foundAfterFault("a"), ["a", "b"]);
    fleet.put("c", factsOf("c", "Debian"));
    assert.deepEqual(foundAfterFault("c"), ["a", "b", "c"]);
    fleet.failing = "b";
    assert.throws(() => fleet.put("b", factsOf("b", "Arch")), /a read failed/);
    assert.deepEqual(fleet.found(target), ["a", "c"]);
  });

  it("can be paused at any step, while minions change under it", () => {
    const random = new Random(11);
    const minions = randomFleet(random, 200);
    const target = parseTarget("compound", "G@os:Debian or P@roles:w.*");
    assert.ok(target.masterTree !== undefined);
    const steps = minions.index.match(target.masterTree);
    for (let step = 0; steps.next().done !== true; step += 1) {
      minions.put(`m${random.below(200)}`, randomFacts(random, "x"));
      if (step === 3) minions.remove("m5");
      if (step === 4) minions.put("late", randomFacts(random, "late"));
    }
    assert.deepEqual(minions.found(target), minions.asked(target));
  });

  it("asks each minion if a target has more readings than targetReadingsMax", () => {
    const minions = randomFleet(new Random(3), 40);
    const target = parseTarget("grain", `${"*:".repeat(40)}x`);
    assert.deepEqual(minions.found(target), minions.asked(target));
    assert.equal(minions.index.counters.termsAskedOfEach, 1);
  });

  it("removes the path that was asked longest ago", () => {
    const facts = (id: string): Facts => ({ id, grains: new Map<Datum, Datum>([["k1", "v"]]), pillar: new Map() });
    const minions = new Fleet([["a", facts("a")]]);
    for (let path = 0; path < 200; path += 1) minions.found(parseTarget("grain", `k${path}:v`));
    assert.equal(minions.index.gauges.paths, 128);
    assert.equal(minions.index.counters.pathsEvicted, 72);
    assert.deepEqual(minions.found(parseTarget("grain", "k1:v")), ["a"]);
  });
});
