/** scripts/test.mjs on a tree of its own: second looks at failed files, and one list of the slowest files of several groups. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { repositoryRoot } from "../root.ts";

const root = mkdtempSync(join(tmpdir(), "test-runs-"));
after(() => rmSync(root, { recursive: true }));
for (const name of ["test.mjs", "file-times.mjs", "slowest-files.mjs"])
  cpSync(join(repositoryRoot, "scripts", name), join(root, "scripts", name));

/** A test file whose suite runs `body`. */
function put(path: string, suite: string, body: string): void {
  const file = join(root, "dist", "test", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `const { existsSync, writeFileSync } = require("node:fs");
require("node:test").describe(${JSON.stringify(suite)}, () => require("node:test").it("runs", () => { ${body} }));`,
  );
}

function runScript(script: string, ...words: string[]): { readonly status: number | null; readonly stdout: string } {
  // A runner inside a test's process would run nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts", script), ...words], { env });
  return { status, stdout: `${stdout}${stderr}` };
}

const failing = 'throw new Error("always")';
const failingOnce = (name: string) => {
  const mark = JSON.stringify(join(root, `${name}-ran`));
  return `if (!existsSync(${mark})) { writeFileSync(${mark}, ""); throw new Error("once"); }`;
};

describe("a run of test files", { timeout: 240_000 }, () => {
  put("wire/sound.test.js", "sound light", "");
  put("wire/always.test.js", "broken light", failing);
  put("wire/once.test.js", "unsteady light", failingOnce("light"));
  put("fleet/sound.test.js", "sound heavy", "");
  put("fleet/always.test.js", "broken heavy", failing);
  put("fleet/once.test.js", "unsteady heavy", failingOnce("heavy"));
  const folders = { light: "wire", heavy: "fleet" } as const;

  for (const [group, folder] of Object.entries(folders)) {
    it(`of the group ${group} says which failed files fail always, and fails for each`, () => {
      const { status, stdout } = runScript("test.mjs", "--group", group, "--times", join(root, "times"));
      assert.equal(status, 1);
      assert.match(stdout, new RegExp(`Files with failed tests: (?:${folder}/(?:always|once)\\.test\\.js ?){2}\n`));
      assert.match(stdout, new RegExp(`${folder}/always\\.test\\.js fails always`));
      assert.match(stdout, new RegExp(`${folder}/once\\.test\\.js failed once and passed alone`));
      assert.doesNotMatch(stdout, /The slowest of/);
    });
  }

  it("looks again at three files at most, and lists the slowest files where no folder for times is given", () => {
    for (const name of ["a", "b", "c", "d"]) put(`many/${name}.test.js`, `broken ${name}`, failing);
    const { status, stdout } = runScript("test.mjs", "many/");
    assert.equal(status, 1);
    assert.equal(stdout.match(/fails always/g)?.length, 3);
    assert.match(
      stdout,
      /The slowest of 7 files.*\n(?: +\d+\.\d s {2}(?:light|again) {2}dist\/test\/many\/.*: broken .\n){7}/,
    );
  });

  it("ends a file that hangs, which has failed", () => {
    put("hangs/hangs.test.js", "hanging", "setInterval(() => undefined, 1_000); return new Promise(() => undefined)");
    const { status, stdout } = runScript("test.mjs", "--file-timeout", "3000", "hangs/");
    assert.equal(status, 1);
    assert.match(stdout, /hangs\.test\.js fails always/);
  });

  it("leaves its times for one list over all groups, with what each file proves", () => {
    const groups = readdirSync(join(root, "times")).map((name) => name.split("-")[0]);
    assert.deepEqual([...new Set(groups)].toSorted(), ["again", "heavy", "light"]);
    const { status, stdout } = runScript("slowest-files.mjs", join(root, "times"));
    assert.equal(status, 0);
    for (const [group, folder] of Object.entries(folders))
      assert.match(stdout, new RegExp(`s {2}${group} {2}dist/test/${folder}/sound\\.test\\.js: sound ${group}\n`));
    assert.equal(stdout.match(/The slowest of/g)?.length, 1);
    for (const [group, folder] of Object.entries(folders))
      assert.match(
        stdout,
        new RegExp(`Failed \\(${group}\\): dist/test/${folder}/once\\.test\\.js: runs\nError: once\n +at `),
      );
    assert.doesNotMatch(stdout, /Failed .*: (?:broken|unsteady) /);
  });
});
