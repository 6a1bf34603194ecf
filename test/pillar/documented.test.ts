import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { filterNames, refusedFilters } from "../../src/pillar/jinja/filters/registry.ts";
import { saltFunctionNames } from "../../src/pillar/salt-functions.ts";
import { repositoryRoot } from "../root.ts";

const text = readFileSync(join(repositoryRoot, "docs", "pillar.md"), "utf8");
const words = (from: string, to: string): string[] => {
  const part = text.slice(text.indexOf(from) + from.length, text.indexOf(to));
  return Array.from(part.matchAll(/`([\w.]+)`/g), ([, name]) => name ?? "");
};

describe("docs/pillar.md", () => {
  it("lists every filter that works", () => {
    assert.deepEqual(words("\nFilters:", "\nFunctions of `salt`"), filterNames());
  });
  it("lists every function of salt", () => {
    assert.deepEqual(words("salt.grains.get('os')`:", "\n## What is refused"), saltFunctionNames());
  });
  it("lists every filter that is refused", () => {
    assert.deepEqual(words("- Filters ", ", and the set filters"), [...refusedFilters]);
  });
});
