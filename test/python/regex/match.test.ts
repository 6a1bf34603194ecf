import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileGlob } from "../../../src/python/fnmatch.ts";
import { compilePythonPattern } from "../../../src/python/regex/match.ts";
import { readGolden } from "../../target/fleet.ts";

type Pattern = [source: string, accepted: number[] | null];
const { texts, regexes, globs } = readGolden("decisions.json") as {
  texts: string[];
  regexes: Pattern[];
  globs: [string, number[]][];
};

/** Indexes of accepted texts; null for a pattern that is invalid; "refused" for a pattern that only we refuse. */
function decide(source: string): number[] | null | "refused" {
  try {
    const pattern = compilePythonPattern(source);
    return texts.flatMap((text, index) => (pattern.matchesStart(text) ? [index] : []));
  } catch (error) {
    assert.ok(error instanceof Error && "detail" in error, String(error));
    const detail = error.detail as { isRefused?: boolean };
    return detail.isRefused === true ? "refused" : null;
  }
}

/** Leaves out the known difference: `$` followed by an item that takes a final newline. */
function isComparable(source: string): boolean {
  return !/\$[^|)]/.test(source) && !source.startsWith("(?#c)(?x)");
}

describe("compilePythonPattern", () => {
  it("decides generated patterns as Python's re.match does", () => {
    const compared = regexes.filter(([source]) => isComparable(source));
    let refusedCount = 0;
    let matchedCount = 0;
    for (const [source, accepted] of compared) {
      const decision = decide(source);
      if (decision === "refused") {
        refusedCount += 1;
        continue;
      }
      assert.deepEqual(decision, accepted, source);
      if (accepted !== null && accepted.length > 0) matchedCount += 1;
    }
    assert.ok(compared.length > 500 && matchedCount > 100, `${compared.length} compared, ${matchedCount} matched`);
    assert.ok(refusedCount < compared.length / 10, `${refusedCount} refused`);
  });

  it("is anchored at the start only", () => {
    assert.ok(compilePythonPattern("es").matchesStart("es1"));
    assert.ok(!compilePythonPattern("es").matchesStart("web-es1"));
    assert.ok(!compilePythonPattern("1$").matchesStart("es1"));
  });

  it("looks ahead anywhere and behind, in linear time", () => {
    const allButWeb = compilePythonPattern("^(?!web|db).*$");
    assert.ok(allButWeb.matchesStart("es1") && !allButWeb.matchesStart("web1"));
    const notDevelopment = compilePythonPattern(".*(?<!dev)$");
    assert.ok(notDevelopment.matchesStart("web-prod") && !notDevelopment.matchesStart("web-dev"));
    const inTheMiddle = compilePythonPattern("web(?=[0-9]+\\.)[^.]*\\.example");
    assert.ok(inTheMiddle.matchesStart("web12.example.com") && !inTheMiddle.matchesStart("webx.example.com"));
    const text = "a".repeat(50_000);
    assert.ok(!compilePythonPattern("(?!(a+)+b)(a+)+$").matchesStart(`${text}!`));
  });

  for (const source of ["(a+)+$", "(a|a)*b", "(x+x+)+y", "((((a*)*)*)*)*$", "(?:a?){100}a{100}b"]) {
    it(`takes no time over a text that makes ${source} explode elsewhere`, () => {
      const started = performance.now();
      assert.ok(!compilePythonPattern(source).matchesStart(`${"a".repeat(50_000)}!`));
      assert.ok(performance.now() - started < 2_000);
    });
  }

  const refusals: [string, RegExp][] = [
    ["(a)\\1", /back-reference/],
    ["(?P<n>a)(?P=n)", /back-reference/],
    ["(a)?(?(1)b|c)", /conditional group/],
    ["(?>a)b", /atomic group/],
    ["a++b", /possessive repeat/],
    ["\\N{DIGIT ONE}", /Unicode name/],
    ["(?i-i:a)", /turned on and off/],
    ["(?au:a)", /incompatible/],
    ["a{1001}", /repeat count over 1000/],
    ["(?:a{1000}){1000}", /pattern of \d+ steps/],
    ["(?<=a)b(?=c)", /ahead and looking behind/],
    [`${"(".repeat(70)}a${")".repeat(70)}`, /nesting deeper than 64/],
  ];
  for (const [source, reason] of refusals) {
    it(`refuses ${source.slice(0, 30)} by its name`, () => {
      assert.throws(() => compilePythonPattern(source), { code: "TARGET_INVALID", message: reason });
    });
  }

  it("ignores case on request as Python's IGNORECASE does", () => {
    assert.ok(compilePythonPattern("WEB[A-Z]", { ignoreCase: true }).matchesStart("webx"));
    assert.ok(!compilePythonPattern("WEB(?-i:X)", { ignoreCase: true }).matchesStart("webx"));
  });
});

describe("boundaries of words", () => {
  // As Python 3.11 answers `re.match`.
  const cases: [source: string, text: string, isMatch: boolean][] = [
    ["\\bé", "é1", true],
    ["caf\\b", "café", false],
    ["caf\\B", "café", true],
    ["(?a)caf\\b", "café", true],
    ["(?i)CAFÉ\\b.x$", "café-x", true],
    ["(?=.*\\bé)x", "x é", true],
    ["(?=.*\\bé)x", "xé", false],
    ["x(?<=\\bx)", "xé", true],
    ["(?m)é$\\n^\\bx", "é\nx", true],
    ["(?s).{2}\\Z\\b", "éa", true],
    ["\\B", "", false],
    ["\\b", "", false],
    ["(?:\\b.){2}", "é日", false],
  ];
  for (const [source, text, isMatch] of cases) {
    it(`${source} ${isMatch ? "takes" : "does not take"} ${JSON.stringify(text)}`, () => {
      assert.equal(compilePythonPattern(source).matchesStart(text), isMatch);
    });
  }
  it("take no longer for long texts beyond ASCII", () => {
    const started = performance.now();
    assert.ok(!compilePythonPattern("(\\wé?)+\\b$x").matchesStart("é".repeat(20_000)));
    assert.ok(performance.now() - started < 10_000);
  });
});

describe("compileGlob", () => {
  it("decides generated globs as Python's fnmatch does", () => {
    assert.ok(globs.length > 300);
    for (const [source, accepted] of globs) {
      const glob = compileGlob(source);
      const found = texts.flatMap((text, index) => (glob.matches(text) ? [index] : []));
      assert.deepEqual(found, accepted, source);
    }
  });
  it("takes no time over many stars", () => {
    const started = performance.now();
    assert.ok(!compileGlob(`${"*a".repeat(50)}b`).matches("a".repeat(20_000)));
    assert.ok(performance.now() - started < 2_000);
  });
});
