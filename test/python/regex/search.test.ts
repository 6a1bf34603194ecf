import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasCode, type SaltworksError } from "../../../src/errors.ts";
import { escapePattern, PythonSearch } from "../../../src/python/regex/search.ts";
import { readGolden } from "../../target/fleet.ts";

type Case = [
  pattern: string,
  template: string,
  letters: string,
  text: string,
  countMax: number,
  isBytes: boolean,
  answer: [string, number] | null,
];
const { replacements } = readGolden("text_edits.json") as { replacements: Case[] };

/** Null for a pattern that Python refuses. */
function replaced([pattern, template, letters, text, countMax, isBytes]: Case): [string, number] | null | "refused" {
  const coded = (value: string) => (isBytes ? Buffer.from(value).toString("latin1") : value);
  try {
    const result = new PythonSearch(coded(pattern), { letters, isBytes }).replace(
      coded(text),
      coded(template),
      countMax,
    );
    return [result.text, result.count];
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return (error as SaltworksError).detail.isRefused === true ? "refused" : null;
  }
}

describe("PythonSearch", () => {
  for (const asked of replacements) {
    const [pattern, template, letters, text, , isBytes, answer] = asked;
    it(`replaces ${pattern} by ${template} ${letters} in ${JSON.stringify(text)}${isBytes ? ", bytes" : ""}`, () => {
      assert.deepEqual(replaced(asked), answer);
    });
  }

  it("refuses patterns that would silently differ, and names the construct", () => {
    assert.throws(() => new PythonSearch("(a)?b\\1"), /back-reference to a group that may take no part/);
    assert.throws(() => new PythonSearch("(?:(a)|b)+").replace("ab", "\\1"), /group 1/);
    assert.equal(new PythonSearch("(?:(a)|b)+").replace("ab", "x").text, "x");
    for (const pattern of ["(?>a)b", "a++", "(a)(?(1)b|c)"])
      assert.throws(() => new PythonSearch(pattern), /not supported/, pattern);
  });

  it("finds groups anywhere, or at the start alone", () => {
    const search = new PythonSearch("(\\d)(x)?");
    assert.deepEqual([...(search.find("a1 2x") ?? [])], ["1", "1", undefined]);
    assert.deepEqual([...(search.findAtStart("2x") ?? [])], ["2x", "2", "x"]);
    assert.equal(search.findAtStart("a1"), undefined);
    // A second search begins at the start again.
    assert.ok(search.isIn("1") && search.isIn("1"));
  });

  it("takes an escaped text for itself", () => {
    const text = "a.b*c[1] (x) {2} ^$|\\ #~ Grüße\n\t-&";
    assert.ok(new PythonSearch(`\\A${escapePattern(text)}\\Z`, { letters: "x" }).isIn(text));
  });
});
