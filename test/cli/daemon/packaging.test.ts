/** Files that packages and operators install beside the program: unit files and logrotate's file agree with the program. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { minionOpenFiles } from "../../../src/cli/commands/minion.ts";
import { commandAbouts } from "../../../src/cli/options/command-list.ts";
import { masterOptions } from "../../../src/config/options/master.ts";
import { minionOptions } from "../../../src/config/options/minion.ts";
import { clusterServerEndMs, drainDeadlineMs, saltMirrorStopMs, watchedStopMs } from "../../../src/limits.ts";
import { exitCodes } from "../../../src/minion/minion.ts";
import { repositoryRoot } from "../../root.ts";

/** The path of the checkout in docs/install.md. */
const installed = "/opt/saltworks";
const unitFile = (role: string) => join(repositoryRoot, "packaging/systemd", `saltworks-${role}.service`);

/** `Section.Name`: value. */
function unitOf(role: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  let section = "";
  for (const line of readFileSync(unitFile(role), "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const heading = /^\[(\w+)\]$/.exec(line)?.[1];
    const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(line) ?? [];
    assert.ok(heading !== undefined || name !== "", line);
    if (heading !== undefined) section = heading;
    else settings.set(`${section}.${name}`, value);
  }
  return settings;
}

/** What all units have in common. */
function demandUnit(role: string): ReadonlyMap<string, string> {
  const unit = unitOf(role);
  const [program = "", command = "", ...rest] = unit.get("Service.ExecStart")?.split(" ") ?? [];
  assert.ok(program.startsWith(`${installed}/`), program);
  accessSync(program.replace(installed, repositoryRoot), constants.X_OK);
  assert.deepEqual([command, rest], [role, []]);
  assert.ok(Object.hasOwn(commandAbouts, command));
  const install = readFileSync(join(repositoryRoot, "docs/install.md"), "utf8");
  assert.ok(install.includes(`git clone URL ${installed} `));
  assert.ok(install.includes(`packaging/systemd/saltworks-${role}.service`));
  const documentation = unit.get("Unit.Documentation")?.replace(`file://${installed}`, repositoryRoot) ?? "";
  assert.ok(existsSync(documentation), documentation);
  // `bin/saltworks` becomes Node.js, so the daemon itself is the process that systemd started.
  assert.deepEqual([unit.get("Service.Type"), unit.get("Service.NotifyAccess")], ["notify", "main"]);
  assert.equal(unit.get("Service.ExecReload"), "/bin/kill -HUP $MAINPID");
  assert.ok(Number(unit.get("Service.WatchdogSec")) >= 30, "a busy worker is not a dead one");
  return unit;
}

describe("packaging", () => {
  for (const role of ["master", "minion"] as const) {
    it(`has a unit that starts the ${role} where docs/install.md puts it, and takes its word that it is ready`, () => {
      const unit = demandUnit(role);
      assert.equal(unit.get("Unit.Conflicts"), `salt-${role}.service`, "both have the same ports and keys");
      assert.match(unit.get("Unit.After") ?? "", new RegExp(`\\bsalt-${role}\\.service$`), "Salt's ends first");
    });
  }

  it("has a unit that starts the witness, which runs beside no Salt of its kind", () => {
    const unit = demandUnit("witness");
    assert.ok(!unit.has("Unit.Conflicts"));
    const startMinutes = Number(/^(\d+)min$/.exec(unit.get("Service.TimeoutStartSec") ?? "")?.[1]);
    assert.ok(60 * startMinutes > masterOptions.cluster_join_timeout.default);
    assert.equal(Number(unit.get("Service.LimitNOFILE")), masterOptions.max_open_files.default);
    assert.ok(Number(unit.get("Service.TimeoutStopSec")) * 1_000 > clusterServerEndMs + watchedStopMs);
  });

  it("bounds open files and the time to stop as the program does", () => {
    const [master, minion] = [unitOf("master"), unitOf("minion")];
    assert.equal(Number(master.get("Service.LimitNOFILE")), masterOptions.max_open_files.default);
    assert.ok(Number(minion.get("Service.LimitNOFILE")) >= minionOpenFiles);
    const stopMs = Number(master.get("Service.TimeoutStopSec")) * 1_000;
    assert.ok(stopMs > drainDeadlineMs + saltMirrorStopMs, `${stopMs} ms`);
    assert.equal(Number(minion.get("Service.RestartPreventExitStatus")), exitCodes.wrongMaster);
  });

  it("rotates the logs that the daemons write by default, and has the daemons open them anew", () => {
    const text = readFileSync(join(repositoryRoot, "packaging/logrotate/saltworks"), "utf8");
    const paths = /^(\/.+) \{$/m.exec(text)?.[1]?.split(" ");
    assert.deepEqual(paths, [masterOptions.log_file.default, minionOptions.log_file.default]);
    const units = /systemctl reload (.+?) 2>/.exec(text)?.[1]?.split(" ") ?? [];
    assert.deepEqual(units, ["saltworks-master.service", "saltworks-minion.service", "saltworks-witness.service"]);
    assert.match(text, /^\tcreate 0640 /m, "the mode of a log that a daemon makes");
  });

  const isAnalysed = process.env.CI === "true" || spawnSync("systemd-analyze", ["--version"]).status === 0;
  it("has units in which systemd finds no fault", { skip: isAnalysed ? false : "there is no systemd-analyze" }, () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-"));
    try {
      for (const role of ["master", "minion", "witness"]) {
        const copy = join(folder, `saltworks-${role}.service`);
        writeFileSync(copy, readFileSync(unitFile(role), "utf8").replaceAll(installed, repositoryRoot));
        const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", copy], { encoding: "utf8" });
        assert.equal(status, 0, stderr);
        // systemd only prints a note for settings that it ignores.
        assert.ok(!stderr.includes(`saltworks-${role}.service`), stderr);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
