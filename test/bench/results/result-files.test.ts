/** Result files are read back unchanged; other files are refused with the reason. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readResult, writeResult } from "../../../bench/results/files.ts";
import { type RunResult, resultSchema } from "../../../bench/results/schema.ts";
import { samplePoint } from "../sample-result.ts";

const result: RunResult = {
  schema: resultSchema,
  startedAt: "2026-11-21T09:45:27.123Z",
  tool: { version: "0.1.0", commit: "abc" },
  machine: { node: "v20", cpu: "a CPU", cores: 2, memoryBytes: 1, kernel: "6", loadAverage: 0.5 },
  scenario: { name: "return-storm", version: 1, question: "?", parameters: { minions: 1 } },
  master: { kind: "saltworks", version: "0.1.0", config: {} },
  points: [],
};

describe("result files", () => {
  const directory = mkdtempSync(join(tmpdir(), "sw-results-"));
  after(() => rmSync(directory, { recursive: true }));

  function refuses(text: string, message: RegExp): void {
    const path = join(directory, "bad.json");
    writeFileSync(path, text);
    assert.throws(() => readResult(path), { code: "CONFIG_INVALID", message });
  }

  it("come back as they were written, under a name that says what they are", () => {
    const folder = join(directory, "made", "for-it");
    const path = writeResult(folder, result);
    assert.match(path, /return-storm-saltworks-20261121T094527Z-\d+\.json$/);
    assert.deepEqual(readResult(path), result);
    assert.equal(readdirSync(folder).filter((name) => name.endsWith(".json")).length, 1);
  });

  it("of another schema are refused by both names", () => {
    refuses(JSON.stringify({ ...result, schema: "saltworks-bench/9" }), /saltworks-bench\/9, not saltworks-bench\/1/);
  });

  it("that lack something are refused by the name of what is missing", () => {
    const points = [samplePoint(), samplePoint()];
    const broken = (change: object) => JSON.stringify({ ...result, ...change });
    refuses(broken({ points: [...points, {}] }), /: points\[2\]\.label is not a string$/);
    refuses(broken({ points: [{ ...points[0], cpu: 7 }] }), /: points\[0\]\.cpu is not a map$/);
    refuses(
      broken({ points: [{ ...points[0], operations: { return: {} } }] }),
      /operations\.return\.planned is not a number$/,
    );
    refuses(broken({ master: { ...result.master, kind: "puppet" } }), /: puppet is not a kind of master$/);
    refuses(broken({ peers: [{ master: result.master }] }), /: peers\[0\]\.points is not a list$/);
    const whole = { ...result, points, peers: [{ master: result.master, points }] };
    assert.deepEqual(readResult(writeResult(join(directory, "whole"), whole)), whole);
  });

  it("that are none are refused", () => {
    refuses("{}", /names no schema/);
    refuses("null", /names no schema/);
    refuses("no json", /not JSON/);
    refuses(JSON.stringify({ schema: resultSchema }), /bad\.json: startedAt is not a string/);
    assert.throws(() => readResult(join(directory, "absent.json")), { code: "CONFIG_INVALID", message: /ENOENT/ });
  });
});
