import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { matchingPaths } from "../../../src/config/files/path-pattern.ts";

describe("matchingPaths", () => {
  const root = mkdtempSync(join(tmpdir(), "saltworks-glob-"));
  for (const folder of ["a.d", "b.d"]) mkdirSync(join(root, folder));
  for (const file of ["a.d/2.conf", "a.d/10.conf", "a.d/.h.conf", "a.d/x+y.conf", "b.d/1.conf", "b.d/[1].conf"])
    writeFileSync(join(root, file), "");
  after(() => rmSync(root, { recursive: true }));
  const cases: [string, string[]][] = [
    ["a.d/*.conf", ["a.d/10.conf", "a.d/2.conf", "a.d/x+y.conf"]],
    ["?.d/1*.conf", ["a.d/10.conf", "b.d/1.conf"]],
    ["a.d/.*", ["a.d/.h.conf"]],
    ["a.d/[12].conf", ["a.d/2.conf"]],
    ["a.d/[!2]?.conf", ["a.d/10.conf"]],
    ["b.d/[[]1].conf", ["b.d/[1].conf"]],
    ["a.d/x+y.conf", ["a.d/x+y.conf"]],
    ["c.d/*", []],
    ["a.d/2.conf/*", []],
  ];
  for (const [pattern, expected] of cases) {
    it(`${pattern} finds ${expected.join(", ") || "nothing"}`, () => {
      assert.deepEqual(
        matchingPaths(join(root, pattern)),
        expected.map((name) => join(root, name)),
      );
    });
  }
});
