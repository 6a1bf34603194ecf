import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { patternStepsMax, targetPatternLengthMax, targetPatternStepsMax, targetTermsMax } from "../../src/limits.ts";
import { matches } from "../../src/target/match.ts";
import { parseTarget } from "../../src/target/parse.ts";
import { asMap } from "./fleet.ts";

const facts = { id: "m".repeat(250), grains: asMap({ role: "a".repeat(30_000) }), pillar: asMap({}) };
/** Far longer than these tests take, and far shorter than a backtracking pattern. */
const boundMs = 60_000;

function timed(step: () => void): void {
  const startedMs = performance.now();
  step();
  const tookMs = Math.round(performance.now() - startedMs);
  assert.ok(tookMs < boundMs, `it took ${tookMs} ms`);
}

describe("targets made to take long", () => {
  const catastrophic = ["(a+)+$", "(a|a)*$", "(a|aa)+b", "(.*)*x", "(m*)*(m*)*!", "((m+)+)+Q", "(?=(m+)+$)x"];
  for (const pattern of catastrophic) {
    it(`${pattern} takes time in proportion to the text`, () => {
      timed(() => assert.equal(typeof matches(parseTarget("pcre", pattern), facts), "boolean"));
      timed(() => assert.equal(typeof matches(parseTarget("grain_pcre", `role:${pattern}`), facts), "boolean"));
    });
  }
  it("a glob of many stars ends in time", () => {
    timed(() => assert.ok(!matches(parseTarget("glob", `${"m*".repeat(targetPatternLengthMax / 4)}x`), facts)));
  });
  it("counted repeats of repeats are refused by their number of steps", () => {
    const large = "[a-z]{1000}".repeat(patternStepsMax / 1_000 + 1);
    timed(() => assert.throws(() => parseTarget("pcre", large), { code: "TARGET_INVALID", message: /steps/ }));
    assert.throws(() => parseTarget("pcre", "((a{100}){100}){100}"), { code: "TARGET_INVALID", message: /refused/ });
  });
  it("the regular expressions of one compound have a bound together", () => {
    const each = 500;
    const term = (index: number) => `E@m{${each}}${index}`;
    const terms = (count: number) => Array.from({ length: count }, (_, index) => term(index)).join(" or ");
    timed(() => {
      assert.throws(() => parseTarget("compound", terms(targetPatternStepsMax / each)), {
        code: "TARGET_INVALID",
        message: /more than \d+ steps together/,
      });
      assert.equal(parseTarget("compound", terms(20)).kind, "compound");
    });
  });
  it("all readings of one key share a bound", () => {
    const expression = `${"a:".repeat(60)}(?:m{900}){10}`;
    timed(() => assert.throws(() => parseTarget("grain_pcre", expression), { code: "TARGET_INVALID" }));
  });
  it("ten thousand words are parsed and decided, one more is refused with the reason that Salt would not give", () => {
    const globs = new Array<string>(targetTermsMax / 2).fill("x*").join(" or ");
    timed(() => assert.ok(!matches(parseTarget("compound", globs), facts)));
    assert.throws(
      () => parseTarget("compound", `${globs} or x*`),
      (error: { detail?: { isRefused?: boolean }; message?: string }) =>
        error.detail?.isRefused === true && /more than \d+ words/.test(error.message ?? ""),
    );
  });
  it("parentheses without end are refused before they are followed", () => {
    const deep = `${"( ".repeat(4_000)}es1${" )".repeat(4_000)}`;
    timed(() => assert.throws(() => parseTarget("compound", deep), { message: /parentheses deep/ }));
    const groups = `${"(".repeat(8_000)}m${")".repeat(8_000)}`;
    timed(() => assert.throws(() => parseTarget("pcre", groups), { code: "TARGET_INVALID" }));
  });
});
