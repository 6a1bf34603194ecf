import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { targetDepthMax, targetTermsMax } from "../../src/limits.ts";
import { matches } from "../../src/target/match.ts";
import { expandTarget, readNodegroups } from "../../src/target/nodegroups.ts";
import { parseTarget } from "../../src/target/parse.ts";
import { repositoryRoot } from "../root.ts";
import { readGolden } from "./fleet.ts";

type Release = { readonly release: string; readonly tgt_on_wire: Readonly<Record<string, unknown>> };
type Vectors = { readonly nodegroups: unknown; readonly releases: readonly Release[] };
const vectors = JSON.parse(readFileSync(join(repositoryRoot, "test/vectors/nodegroups.json"), "utf8")) as Vectors;
const golden = readNodegroups((readGolden("fleet.json") as { nodegroups: unknown }).nodegroups);

const expansion = (groups: unknown, name: string) => expandTarget("nodegroup", name, readNodegroups(groups)).expression;

describe("nodegroups", () => {
  const since3001 = vectors.releases.filter(({ release }) => /^300[1-9]/.test(release));
  for (const { release, tgt_on_wire: expected } of since3001) {
    it(`become what the command line of ${release} publishes`, () => {
      assert.ok(Object.keys(expected).length > 10);
      for (const [name, text] of Object.entries(expected)) {
        assert.equal(expansion(vectors.nodegroups, name), text, name);
      }
    });
  }

  it("are stored as text with single blanks, parentheses around inner groups", () => {
    const deep = "( ( ( ( web* ) and G@env:prod ) or ( L@es1,es2, ) ) and not es2 )";
    const written = expandTarget("nodegroup", "deep", golden);
    assert.deepEqual(written, { kind: "compound", expression: deep });
    assert.equal(expandTarget("nodegroup", "WEB", golden).expression, "web*");
  });
  it("are written out within a compound, whose words are joined by single blanks", () => {
    const written = expandTarget("compound", "  N@WEB   and not N@listed ", golden);
    assert.deepEqual(written, { kind: "compound", expression: "web* and not L@es1,db1.example.com" });
    assert.equal(expandTarget("compound", ["L@a", "or", "N@ELK"], golden).expression, "L@a or L@es1,es2,");
  });
  it("match no minion while they are empty, so that their negation matches all", () => {
    const written = expandTarget("compound", "web* and not N@spare", readNodegroups({ spare: [] }));
    assert.equal(written.expression, "web* and not L@");
    const target = parseTarget("compound", written.expression);
    assert.ok(matches(target, { id: "web1", grains: new Map(), pillar: new Map() }));
  });
  it("leave every other target as it is", () => {
    for (const kind of ["glob", "list", "pcre"]) {
      assert.deepEqual(expandTarget(kind, "N@WEB", golden), { kind, expression: "N@WEB" });
    }
  });
  it("take a list for ids, for one pattern where a member has signs of one, or for the words of a compound", () => {
    assert.equal(expansion({ g: ["a", "b"] }, "g"), "L@a,b");
    assert.equal(expansion({ g: ["a[12]", "b?"] }, "g"), "E@a[12],b?");
    assert.equal(expansion({ g: ["a*", "or", "G@role:x"] }, "g"), "a* or G@role:x");
    assert.equal(expansion({ g: [7, "b"] }, "g"), "L@7,b");
    assert.equal(expansion({ g: [] }, "g"), "L@");
    assert.equal(expansion({ g: "G|@a|b" }, "g"), "G|@a|b");
  });

  const refuses = (groups: unknown, name: string, message: RegExp) =>
    assert.throws(() => expansion(groups, name), { code: "TARGET_INVALID", message });
  it("refuse a loop and an unknown group, and name them", () => {
    const groups = { a: "N@b", b: "N@a or es1", c: "N@none or es1", self: "N@self" };
    refuses(groups, "a", /illegal nested nodegroup "a"/);
    refuses(groups, "b", /illegal nested nodegroup "b"/);
    refuses(groups, "self", /illegal nested nodegroup "self"/);
    refuses(groups, "c", /unknown nodegroup "none"/);
    assert.throws(
      () => expansion(groups, "none"),
      (error: { detail?: object }) => {
        assert.deepEqual(error.detail, { isRefused: true, group: "none", isUndefined: true });
        return true;
      },
    );
  });
  it("stay within a target's bounds on size, depth and time", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `g${index}`,
        index === 0 ? "es*" : `N@g${index - 1} or N@g${index - 1}`,
      ]),
    );
    refuses(doubling, "g59", new RegExp(`more than ${targetTermsMax} words`));
    const hollow = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`g${index}`, index === 0 ? "" : `N@g${index - 1} N@g${index - 1}`]),
    );
    refuses(hollow, "g59", new RegExp(`more than ${targetTermsMax} words`));
    const long = Object.fromEntries(
      Array.from({ length: targetDepthMax + 2 }, (_, index) => [`g${index}`, index === 0 ? "es*" : `N@g${index - 1}`]),
    );
    refuses(long, `g${targetDepthMax + 1}`, /nested more than/);
  });
  it("never reach a parser", () => {
    for (const name of ["WEB", "deep", "listed", "frontline", "notweb", "ipnet", "re", "complist"]) {
      const { kind, expression } = expandTarget("nodegroup", name, golden);
      assert.equal(parseTarget(kind, expression).kind, "compound", name);
    }
  });
});
