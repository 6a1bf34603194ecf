import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hasCode } from "../../src/errors.ts";
import { targetTermsMax } from "../../src/limits.ts";
import { matches } from "../../src/target/match.ts";
import { expandTarget, readNodegroups } from "../../src/target/nodegroups.ts";
import { type OldRelease, oldReleases, parseAsOldRelease } from "../../src/target/old-release.ts";
import { parseTarget } from "../../src/target/parse.ts";
import { portableCompound } from "../../src/target/portable.ts";
import { repositoryRoot } from "../root.ts";
import { asMap } from "./fleet.ts";

type Release = {
  readonly release: string;
  readonly tgt_on_wire: Readonly<Record<string, string | string[]>>;
  readonly minion_match?: readonly { readonly tgt: string | string[]; readonly result: boolean }[];
};
type Vectors = { readonly nodegroups: unknown; readonly releases: readonly Release[] };
const vectors = JSON.parse(readFileSync(join(repositoryRoot, "test/vectors/nodegroups.json"), "utf8")) as Vectors;

/** The minion of the vectors. */
const facts = { id: "m1", grains: asMap({ role: "web" }), pillar: asMap({ role: "web" }) };

function isForOld(release: OldRelease, kind: string, expression: string | string[], delimiter?: string): boolean {
  try {
    return matches(parseAsOldRelease(release, kind, expression, delimiter), facts);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return false;
  }
}

function isForPresent(expression: string): boolean {
  try {
    return matches(parseTarget("compound", expression), facts);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return false;
  }
}

describe("targets as old releases took them", () => {
  for (const release of oldReleases) {
    const recorded = vectors.releases.find((entry) => entry.release.startsWith(release))?.minion_match ?? [];
    it(`${release} decides as its own code did`, () => {
      assert.equal(recorded.length, 24);
      for (const { tgt, result } of recorded) assert.equal(isForOld(release, "compound", tgt), result, String(tgt));
    });
  }
  it("knew fewer kinds, and the delimiter only since 2015.5", () => {
    assert.ok(isForOld("2015.5", "pillar_pcre", "role:w.b") && !isForOld("2014.7", "pillar_pcre", "role:w.b"));
    assert.ok(!isForOld("2015.5", "compound_pillar_exact", "m1") && !isForOld("2014.1", "pillar_exact", "role:web"));
    assert.ok(isForOld("2015.5", "grain", "role/web", "/") && !isForOld("2014.7", "grain", "role/web", "/"));
    for (const release of oldReleases) {
      assert.ok(isForOld(release, "list", ["m1", "m2"]) && isForOld(release, "list", "m1,m2"));
      assert.ok(
        isForOld(release, "glob", "m*") && isForOld(release, "pcre", "m[12]") && isForOld(release, "grain", "role:web"),
      );
    }
  });
});

describe("what a compound goes out as", () => {
  it("changes only what old minions would read differently", () => {
    const forms = [
      ["G@role:web and not L@m3", "G@role:web and not L@m3"],
      ["( L@m1 or L@m2 ) and not L@m3", "* and ( L@m1 or L@m2 ) and not L@m3"],
      ["not L@m3", "* and not L@m3"],
      ["( not L@m3 )", "* and ( * and not L@m3 )"],
      ["web* or ( not ( not m1 ) )", "web* or ( * and not ( * and not m1 ) )"],
      ["L@m1,m2,m1 or  es*", "L@m1,m2 or es*"],
      ["L@m1,m2, or es*", "L@m1,m2, or es*"],
    ];
    for (const [asked = "", sent] of forms) assert.equal(portableCompound(asked), sent);
    assert.equal(portableCompound(["(", "L@m1", "or", "m2", ")"]), "* and ( L@m1 or m2 )");
  });

  it("reaches minions of every release with every nodegroup, where the groups as they were sent did not", () => {
    const groups = readNodegroups(vectors.nodegroups);
    const lost: string[] = [];
    for (const name of groups.keys()) {
      const written = String(expandTarget("nodegroup", name, groups).expression);
      assert.ok(isForPresent(written) && isForPresent(portableCompound(written)), name);
      for (const release of oldReleases) {
        assert.ok(isForOld(release, "compound", portableCompound(written)), `${release} ${name}`);
        if (!isForOld(release, "compound", written)) lost.push(`${release} ${name}`);
      }
    }
    assert.ok(lost.includes("2014.1 nested") && lost.includes("2015.5 neg"), String(lost));
    // Masters of 2016.11 sent a list, which these releases ignore silently.
    const lists = vectors.releases.find(({ release }) => release.startsWith("2016.11"))?.tgt_on_wire ?? {};
    for (const list of Object.values(lists)) assert.ok(!isForOld("2015.5", "compound", list));
  });

  it("means the same to all releases, whatever the expression", () => {
    let seed = 20151121;
    const random = (bound: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * bound);
    };
    const terms = [
      "m1",
      "m2",
      "L@m1,m2",
      "L@m3,",
      "G@role:web",
      "G@role:db",
      "E@m[12]",
      "P@role:w.*",
      "I@role:web",
      "*",
    ];
    const expression = (depth: number): string => {
      const choice = depth === 0 ? 0 : random(6);
      if (choice <= 1) return terms[random(terms.length)] ?? "*";
      if (choice === 2) return `( ${expression(depth - 1)} )`;
      if (choice === 3) return `not ${random(2) === 0 ? "m2" : `( ${expression(depth - 1)} )`}`;
      return `${expression(depth - 1)} ${choice === 4 ? "and" : "or"} ${expression(depth - 1)}`;
    };
    let yes = 0;
    for (let round = 0; round < 2_000; round += 1) {
      const asked = expression(4);
      const isMeant = isForPresent(asked);
      const sent = portableCompound(asked);
      assert.equal(isForPresent(sent), isMeant, `${asked} -> ${sent}`);
      for (const release of oldReleases) {
        assert.equal(isForOld(release, "compound", sent), isMeant, `${release}: ${asked} -> ${sent}`);
      }
      if (isMeant) yes += 1;
    }
    assert.ok(yes > 400 && yes < 1_600, `${yes} of 2000 mean the minion`);
  });

  it("is refused if it grows beyond targetTermsMax", () => {
    const most = `${"( not a ) or ".repeat(targetTermsMax / 5 - 1)}b`;
    assert.throws(() => portableCompound(most), { code: "TARGET_INVALID", message: /words/ });
  });
});
