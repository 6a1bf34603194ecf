import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { countOf, countsOf, saltVenv } from "../../../bench/peers/program.ts";

function run(program: string, ...args: string[]) {
  const file = fileURLToPath(new URL(`../../../bench/peers/${program}.js`, import.meta.url));
  const env = { ...process.env, SALTWORKS_SALT_VENV: undefined };
  return spawnSync(process.execPath, [file, ...args], { encoding: "utf8", env, timeout: 30_000 });
}

describe("command lines of the programs that hold masters against each other", () => {
  it("take whole numbers above 0, and lists of them", () => {
    assert.equal(countOf("--rounds", "4"), 4);
    assert.deepEqual(countsOf("--minions", "1000,8000"), [1_000, 8_000]);
    for (const text of ["0", "-1", "1.5", "four", ""]) {
      assert.throws(() => countOf("--rounds", text), { code: "USAGE", message: /--rounds/ });
    }
    assert.throws(() => countsOf("--minions", "1000,"), { code: "USAGE" });
  });

  it("refuse a virtual environment without Salt", () => {
    assert.throws(() => saltVenv("/nonexistent"), { code: "USAGE", message: "no salt-master in /nonexistent" });
  });

  for (const program of ["cpu-per-return", "cpu-per-auth", "fleet-growth"]) {
    it(`${program} explains itself, and says in one line what it does not understand`, () => {
      const { stdout, status } = run(program, "--help");
      assert.match(stdout, new RegExp(`^usage: node dist/bench/peers/${program}.js`));
      assert.equal(status, 0);
      const wrong = run(program, "--workers", "many");
      assert.equal(wrong.status, 64);
      assert.match(wrong.stderr, /^--workers takes a whole number above 0, not many$/m);
      assert.doesNotMatch(wrong.stderr, / {4}at /);
    });
  }
});
