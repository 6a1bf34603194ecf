/** How differences of members are told from what each has. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  compareClocks,
  compareFiles,
  compareStates,
  type Told,
  unlikeTrees,
} from "../../../src/cluster/likeness/compare.ts";
import type { OptionState, TreeState } from "../../../src/cluster/likeness/message.ts";

const emptyDigest = "empty";

function told(member: string, options: Record<string, OptionState>, trees: readonly TreeState[] = []): Told {
  return { member, state: { version: "1.0.0", options, trees } };
}
const tree = (environment: string, digest: string | undefined): TreeState => ({
  tree: "file_roots",
  environment,
  digest,
});
const files = (entries: Record<string, string>) => new Map(Object.entries(entries));

describe("the comparison of members", () => {
  it("names the member whose option is not that of most, with its value", () => {
    const found = compareStates(
      [
        told("m1", { keysize: { digest: "x", shown: "4096" } }),
        told("m2", { keysize: { digest: "y", shown: "2048" } }),
        told("m3", { keysize: { digest: "y", shown: "2048" } }),
      ],
      "m1",
    );
    assert.deepEqual(found, [{ member: "m1", subject: "option", name: "keysize", kind: "differs", detail: "4096" }]);
  });

  it("takes the asking member's value for the usual one if no value is more frequent", () => {
    const states = [told("m1", { peer: { digest: "x" } }), told("m2", { peer: { digest: "y" } })];
    const members = (own: string) => compareStates(states, own).map(({ member }) => member);
    assert.deepEqual([members("m1"), members("m2")], [["m2"], ["m1"]]);
  });

  it("names versions, and options that one member does not have", () => {
    const old = { member: "m3", state: { version: "0.9.0", options: {}, trees: [] } };
    const found = compareStates(
      [told("m1", { peer: { digest: "x" } }), told("m2", { peer: { digest: "x" } }), old],
      "m1",
    );
    assert.deepEqual(
      found.map(({ member, subject, kind, detail }) => [member, subject, kind, detail]),
      [
        ["m3", "version", "differs", "0.9.0"],
        ["m3", "option", "missing here", undefined],
      ],
    );
  });

  it("finds trees that differ, also an environment that one lacks, and leaves out what was not read", () => {
    const found = unlikeTrees(
      [
        told("m1", {}, [tree("base", "x"), tree("dev", "d"), tree("large", undefined)]),
        told("m2", {}, [tree("base", "x"), tree("empty", emptyDigest), tree("large", "l")]),
      ],
      emptyDigest,
    );
    assert.deepEqual(found, [{ tree: "file_roots", environment: "dev", members: ["m1", "m2"] }]);
  });

  it("tells files that are only here, missing here, and different", () => {
    const found = compareFiles(
      { tree: "pillar_roots", environment: "base" },
      new Map([
        ["m1", files({ "a.sls": "1", "b.sls": "1", "c.sls": "1" })],
        ["m2", files({ "a.sls": "1", "b.sls": "2", "d.sls": "1" })],
        ["m3", files({ "a.sls": "1", "b.sls": "1", "c.sls": "1" })],
      ]),
      "m2",
    );
    assert.deepEqual(
      found.map(({ member, name, kind }) => `${member} ${name} ${kind}`),
      ["m2 b.sls differs", "m2 c.sls missing here", "m2 d.sls only here"],
    );
  });

  it("reports a clock only if the time of the answer cannot explain the difference", () => {
    const clock = (member: string, aheadMs: number, unsureMs: number) => ({ member, aheadMs, unsureMs });
    const found = compareClocks([clock("m1", 900, 1), clock("m2", -2_300, 100), clock("m3", 1_500, 600)], 1_000);
    assert.deepEqual(found, [
      { member: "m2", subject: "clock", name: "clock", kind: "differs", detail: "2.3 s behind" },
    ]);
  });
});
