import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { loadMasterConfig, loadMinionConfig, refuseStart } from "../../src/config/load.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";

const text = `timeout: sdb://vault/timeout
vault: {driver: yaml, files: [/x]}
nodegroups: {rack: sdb://vault/rack, plain: 'L@a'}
gitfs_remotes: [one: [password: sdb://vault/word]]
default_top: sdb://nowhere/base
log_fmt_console: sdb://vault
`;

describe("values that stand elsewhere", () => {
  const folder = mkdtempSync(join(tmpdir(), "sw-sdb-"));
  for (const role of ["master", "minion"]) writeFileSync(join(folder, role), text);
  after(() => rmSync(folder, { recursive: true }));
  const place = (line: number) => ({ driver: "yaml", file: join(folder, "master"), line });

  it("are found in options, lists and maps, where a profile with a driver is named", () => {
    const { sdbValues, timeout, default_top: top } = loadMasterConfig(folder);
    assert.deepEqual(sdbValues, [
      { uri: "sdb://vault/timeout", option: "timeout", ...place(1) },
      { uri: "sdb://vault/rack", option: "nodegroups", ...place(3) },
      { uri: "sdb://vault/word", option: "gitfs_remotes", ...place(4) },
    ]);
    // As in Salt, what names no profile is a text.
    assert.deepEqual([timeout, top], [5, "sdb://nowhere/base"]);
  });

  it("refuse the start until they are looked up, each with its place", () => {
    assert.throws(() => refuseStart(loadMasterConfig(folder)), {
      code: "CONFIG_INVALID",
      message: /master:3: nodegroups: sdb:\/\/vault\/rack cannot be looked up/,
    });
  });

  it("take their places once they are known, and are checked there", () => {
    const found: [string, string | number][] = [
      ["sdb://vault/timeout", 9],
      ["sdb://vault/rack", "L@b"],
      ["sdb://vault/word", "secret"],
    ];
    const config = loadMasterConfig(folder, {}, { sdb: new Map(found) });
    assert.deepEqual([config.timeout, config.nodegroups, config.sdbValues], [9, { rack: "L@b", plain: "L@a" }, []]);
    assert.deepEqual(config.opts.get("gitfs_remotes"), [{ one: [{ password: "secret" }] }]);
    refuseStart(config);
    const wrong = new Map<string, string | number>([...found, ["sdb://vault/timeout", "soon"]]);
    assert.throws(() => loadMasterConfig(folder, {}, { sdb: wrong }), { message: /timeout: / });
  });

  it("are looked up by a Python that is a path, auto or none", () => {
    const withPython = (value: ConfigValue) => () => refuseStart(loadMasterConfig("/nowhere", { salt_python: value }));
    for (const value of [true, 7, ["python3"]])
      assert.throws(withPython(value), { code: "CONFIG_INVALID", message: /salt_python: must be the path/ });
    for (const value of [false, "auto", "/usr/bin/python3", null]) withPython(value)();
  });

  it("are named by a minion, which looks none up", () => {
    const { warnings } = loadMinionConfig(folder);
    assert.match(warnings.join("\n"), /minion:4: gitfs_remotes: sdb:\/\/vault\/word is not looked up/);
  });
});
