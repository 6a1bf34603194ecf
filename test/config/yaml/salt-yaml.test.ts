/** YAML texts that real Salt read or refused, recorded by test/config/golden/make_golden.py. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseSaltYaml } from "../../../src/config/yaml/salt-yaml.ts";
import { repositoryRoot } from "../../root.ts";

type Recorded = { text: string; value?: unknown; special?: string; refused?: true };
const golden = JSON.parse(readFileSync(join(repositoryRoot, "test/config/golden/yaml.json"), "utf8"));

/** Python's text of numbers that JSON cannot hold. */
function pythonNumber(value: unknown): string {
  if (value === Infinity) return "inf";
  return value === -Infinity ? "-inf" : String(value);
}

/** JSON, so that both sides lose the same precision of numbers. */
function numbersOnly(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === "bigint" ? Number(member) : member));
}

for (const [release, cases] of Object.entries<Recorded[]>(golden)) {
  describe(`YAML as Salt ${release} reads it`, () => {
    for (const { text, value, special, refused } of cases) {
      it(`${JSON.stringify(text)} is ${refused ? "refused" : (special ?? JSON.stringify(value))}`, () => {
        const read = parseSaltYaml(text);
        if (refused) return assert.ok("faults" in read && read.faults.length > 0, "must be refused");
        assert.ok("value" in read, "must be read");
        if (special !== undefined) return assert.equal(pythonNumber(read.value), special);
        const plain = JSON.parse(numbersOnly(read.value));
        return assert.deepEqual(plain, JSON.parse(JSON.stringify(value)));
      });
    }
  });
}

describe("parseSaltYaml", () => {
  it("tells the line of each top-level key", () => {
    const read = parseSaltYaml("# comment\na: 1\n\nb:\n  c: 2\nd: 3\n");
    assert.ok("lines" in read);
    assert.deepEqual(
      [...read.lines],
      [
        ["a", 2],
        ["b", 4],
        ["d", 6],
      ],
    );
  });

  it("names the key that stands twice, and the line of the second", () => {
    const read = parseSaltYaml("timeout: 3\nid: x\ntimeout: 4\n");
    assert.deepEqual(read, { faults: [{ line: 3, message: "timeout is repeated here" }] });
  });

  it("keeps an integer beyond 2^53 exact", () => {
    const read = parseSaltYaml("9007199254740993");
    assert.ok("value" in read);
    assert.equal(read.value, 9_007_199_254_740_993n);
  });

  it("reads base64 as bytes", () => {
    const read = parseSaltYaml("!!binary aGVsbG8=");
    assert.ok("value" in read);
    assert.deepEqual(Buffer.from(read.value as Uint8Array).toString(), "hello");
  });

  it("refuses aliases that multiply without end", () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const below = level === 0 ? "x" : `*a${level - 1}`;
      return `a${level}: &a${level} [${Array(10).fill(below).join(", ")}]`;
    });
    const read = parseSaltYaml(levels.join("\n"));
    assert.ok("faults" in read);
  });

  it("names the line of a fault", () => {
    const read = parseSaltYaml("a: 1\nb: {{ jinja }}\n");
    assert.ok("faults" in read);
    assert.equal(read.faults[0]?.line, 2);
  });
});
