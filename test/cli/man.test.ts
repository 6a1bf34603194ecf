import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { manualPages } from "../../scripts/man.ts";
import { commands } from "../../src/cli/options/parse.ts";

const isGroffThere = spawnSync("groff", ["--version"]).status === 0;

describe("manual pages", () => {
  const pages = manualPages();

  it("are there for the program and each command, with every option and none that is refused", () => {
    assert.deepEqual(
      [...pages.keys()].sort(),
      ["docs/man/saltworks.1", ...Object.keys(commands).map((name) => `docs/man/saltworks-${name}.1`)].sort(),
    );
    for (const [name, table] of Object.entries(commands)) {
      const text = (pages.get(`docs/man/saltworks-${name}.1`) ?? "").replaceAll("\\-", "-");
      for (const { names } of table.groups.flatMap((group) => Object.values(group.options))) {
        for (const option of names) assert.ok(text.includes(`\\fB${option}\\fR`), `${name} ${option}`);
      }
      for (const option of table.unavailable.flat()) assert.ok(!text.includes(`\\fB${option}\\fR`), option);
    }
  });

  for (const [path, text] of pages) {
    it(`${path} is rendered without a warning`, { skip: isGroffThere ? false : "groff is not installed" }, () => {
      const groff = spawnSync("groff", ["-man", "-ww", "-Tutf8"], { input: text, encoding: "utf8", timeout: 60_000 });
      assert.equal(groff.stderr, "");
      assert.match(groff.stdout, /SALTWORKS/);
    });
  }
});
