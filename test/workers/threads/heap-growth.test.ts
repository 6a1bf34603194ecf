import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { heapGrowthPercent } from "../../../src/limits.ts";

const file = new URL("../../../src/workers/threads/heap-growth.js", import.meta.url).href;
const showTag = 'console.log((await import("node:v8")).cachedDataVersionTag())';

/** A number that depends on V8's flags: code that was compiled under others is not used. */
function flagsTag(flags: readonly string[], before = ""): string {
  const program = ["--input-type=module", "-e", `${before}${showTag}`];
  return spawnSync(process.execPath, [...flags, ...program], { encoding: "utf8", timeout: 60_000 }).stdout;
}

describe("letHeapsGrow", () => {
  it("is V8's own flag, set while the process runs", () => {
    const set = flagsTag([], `(await import("${file}")).letHeapsGrow(); `);
    assert.match(set, /^\d+\n$/);
    assert.equal(set, flagsTag([`--heap-growing-percent=${heapGrowthPercent}`]));
    assert.notEqual(set, flagsTag([]));
  });
});
