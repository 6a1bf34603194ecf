import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hasCode } from "../../src/errors.ts";
import { listedIds, matchesExpected } from "../../src/target/expected.ts";
import { matches } from "../../src/target/match.ts";
import { expandTarget, readNodegroups } from "../../src/target/nodegroups.ts";
import { needsMinionData, parseTarget } from "../../src/target/parse.ts";
import { repositoryRoot } from "../root.ts";
import { asMap, expectedIds, fleet, matchingIds, parseOrNobody, readGolden } from "./fleet.ts";

type Recorded = {
  type: string;
  expr: string;
  delimiter?: string;
  expected_by_master: string[];
  missing_by_master: string[];
  returned: string[];
  expected_if_minion_data_cache_off?: string[];
};
const recorded = (readGolden("targeting.json") as { expressions: Recorded[] }).expressions;
const groups = readNodegroups((readGolden("fleet.json") as { nodegroups: unknown }).nodegroups);
const accepted = fleet.map((facts) => facts.id).sort();

/** The target with its nodegroups expanded; undefined for an unknown group. */
function parseWritten(kind: string, asked: string | string[], delimiter: string | undefined) {
  try {
    const written = expandTarget(kind, asked, groups);
    return parseOrNobody(written.kind, written.expression, delimiter);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return undefined;
  }
}

/** The command line's list from the word after `-L`. */
function splitList(word: string): string[] {
  return word.includes(",") ? word.replaceAll(" ", "").split(",") : word.split(/\s+/);
}

describe("targets recorded from a real master and its minions", () => {
  it("has them all", () => assert.equal(recorded.length, 65));

  for (const entry of recorded) {
    it(`${entry.type} ${JSON.stringify(entry.expr)}`, () => {
      const asked = entry.type === "list" ? splitList(entry.expr) : entry.expr;
      const target = parseWritten(entry.type, asked, entry.delimiter);
      assert.deepEqual(expectedIds(target), entry.expected_by_master, "expected by the master");
      assert.deepEqual(matchingIds(target), entry.returned, "answered by the minions");
      if (entry.type === "list") {
        const missing = target === undefined ? [] : (listedIds(target) ?? []).filter((id) => !accepted.includes(id));
        assert.deepEqual(missing, entry.missing_by_master, "missing");
      }
      const isEveryoneExpected = entry.expected_if_minion_data_cache_off?.length === accepted.length;
      if (isEveryoneExpected) assert.ok(needsMinionData(entry.type), "everyone is expected without minion data");
    });
  }
});

describe("decisions of Salt's own matchers over generated targets", () => {
  type Decision = { kind: string; expr: string; expected: string[]; returned: string[] };
  const all = (readGolden("decisions.json") as { targets: Decision[] }).targets;
  // Python reads `es1 ( web* )` as a call, which a minion evaluates only if an earlier `or` has not decided: not imitated.
  const decisions = all.filter(({ expr }) => !/(^|\s)(?!and |or |not |\( )\S+ \(/.test(expr));
  it(`agrees on all ${decisions.length}`, () => {
    assert.ok(decisions.length > 300);
    for (const { kind, expr, expected, returned } of decisions) {
      const target = parseOrNobody(kind, expr);
      assert.deepEqual(expectedIds(target), expected, `expected by the master: ${kind} ${expr}`);
      assert.deepEqual(matchingIds(target), returned, `answered by the minions: ${kind} ${expr}`);
    }
  });
});

describe("compound targets as minions since 2015.8 take them", () => {
  type Release = { release: string; minion_match?: { tgt: string | string[]; result: boolean }[] };
  const path = join(repositoryRoot, "test/vectors/nodegroups.json");
  const releases = (JSON.parse(readFileSync(path, "utf8")) as { releases: Release[] }).releases;
  const cases = releases.find((entry) => entry.release === "2018.3.5")?.minion_match ?? [];
  const facts = { id: "m1", grains: asMap({ role: "web" }), pillar: asMap({ role: "web" }) };

  it("has the recorded cases", () => assert.equal(cases.length, 24));
  for (const { tgt, result } of cases) {
    it(JSON.stringify(tgt), () => {
      if (tgt === "N@plain") return assert.throws(() => parseTarget("compound", tgt), /nodegroup refused/);
      const target = parseOrNobody("compound", tgt);
      assert.equal(target !== undefined && matches(target, facts), result);
    });
  }
});

describe("a master that does not know a minion's grains", () => {
  const isExpected = (kind: string, expression: string) =>
    matchesExpected(parseTarget(kind, expression), "m1", undefined);
  it("expects it for every term that asks for them", () => {
    assert.ok(isExpected("grain", "os:Debian"));
    assert.ok(isExpected("ipcidr", "10.0.0.0/8"));
    assert.ok(isExpected("compound", "I@a:b and J@a:b and P@a:b and G@a:b and S@::1"));
  });
  it("does not expect it where its id decides, or where the term is negated", () => {
    assert.ok(!isExpected("compound", "G@os:Debian and web*"));
    assert.ok(!isExpected("compound", "not G@os:Debian"));
  });
});
