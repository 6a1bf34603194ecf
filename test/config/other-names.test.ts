/** Salt's other options, which have no effect here: defaults that need no warning. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadMasterConfig, loadMinionConfig } from "../../src/config/load.ts";
import { otherDefaults } from "../../src/config/options/other-defaults.ts";
import { unbuiltOptions } from "../../src/config/options/unbuilt.ts";
import { isIgnored, otherSaltNames } from "../../src/config/other-names.ts";
import { masterOptions } from "../../src/config/schema.ts";
import { repositoryRoot } from "../root.ts";

type Defaults = Readonly<Record<"master" | "minion", Readonly<Record<string, unknown>>>>;
const golden: Readonly<Record<string, Defaults>> = JSON.parse(
  readFileSync(join(repositoryRoot, "test/config/golden/defaults.json"), "utf8"),
);

describe("options of Salt's on which nothing here acts", () => {
  it("have the defaults of a release", () => {
    for (const [name, value] of Object.entries(otherDefaults)) {
      assert.ok(otherSaltNames.has(name), name);
      const known = Object.values(golden).flatMap(({ master, minion }) => [master[name], minion[name]]);
      assert.ok(
        known.some((one) => JSON.stringify(one) === JSON.stringify(value)),
        `${name}: ${JSON.stringify(value)}`,
      );
    }
  });

  it("are never reported with the default of the newest release", () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-"));
    try {
      for (const [role, load] of [
        ["master", loadMasterConfig],
        ["minion", loadMinionConfig],
      ] as const) {
        const names = Object.entries(golden["3008"]?.[role] ?? {}).filter(([name]) => isIgnored(name, role));
        assert.ok(names.length > 100, role);
        writeFileSync(join(folder, role), names.map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`).join(""));
        assert.deepEqual(load(folder).inert, [], role);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("are every option of a master that has no table of its own, whatever the release", () => {
    for (const { master } of Object.values(golden))
      for (const name of Object.keys(master)) {
        // Salt sets these options itself.
        if (["file_client", "module_dirs"].includes(name)) continue;
        const isTold = name in masterOptions || name in unbuiltOptions || otherSaltNames.has(name);
        assert.ok(isTold, `${name}: an operator who sets it would hear nothing`);
      }
  });

  it("leave out what Salt's own programs read beside this master", () => {
    for (const name of ["rest_cherrypy", "ssh_user", "syndic_log_file", "netapi_enable_clients", "thin_extra_mods"])
      assert.equal(isIgnored(name, "master"), false, name);
    assert.equal(isIgnored("log_rotate_max_bytes", "master"), true);
    assert.deepEqual([isIgnored("test", "master"), isIgnored("test", "minion")], [true, false]);
  });
});
