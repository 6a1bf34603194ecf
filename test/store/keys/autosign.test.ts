/** Which minions are accepted or rejected without an operator. docs/protocol.md section 3.3, point 3. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openAutosign } from "../../../src/store/keys/autosign.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { temporaryDirectories } from "../temporary.ts";

describe("autosign", () => {
  const temporary = temporaryDirectories();

  function rules(
    o: { lines?: string; rejects?: string; autoAccept?: boolean; isPermissive?: boolean; timeoutMinutes?: number } = {},
  ) {
    const directory = temporary();
    for (const folder of ["minions_autosign", "grains"]) mkdirSync(join(directory, folder));
    if (o.lines !== undefined) writeFileSync(join(directory, "sign"), o.lines);
    if (o.rejects !== undefined) writeFileSync(join(directory, "reject"), o.rejects);
    const autosign = openAutosign({
      auto_accept: o.autoAccept ?? false,
      autosign_file: o.lines === undefined ? null : join(directory, "sign"),
      autoreject_file: o.rejects === undefined ? null : join(directory, "reject"),
      autosign_grains_dir: join(directory, "grains"),
      autosign_timeout: o.timeoutMinutes ?? 120,
      permissive_pki_access: o.isPermissive ?? false,
      pki_dir: directory,
    });
    return { directory, autosign };
  }

  it("signs no minion by default and every minion with auto_accept", () => {
    assert.equal(rules().autosign.isAutoSigned("web1"), false);
    assert.equal(rules({ autoAccept: true }).autosign.isAutoSigned("web1"), true);
  });

  const lines =
    "# comment\nweb1\n  db*  \nnode[0-9].example.com\nx\\d{2}\nhost-(a|b)\\.net\nq?[!z]\n(?P<n>y)+end\n\n[unclosed\n(broken\n";
  const cases: [string, boolean][] = [
    ["web1", true],
    ["web11", false],
    ["db", true],
    ["db7.example.com", true],
    ["mydb", false],
    ["node3.example.com", true],
    ["node33.example.com", false],
    ["x42", true],
    ["x4", false],
    ["host-a.net", true],
    ["host-axnet", false],
    ["qab", true],
    ["qaz", false],
    ["yyend", true],
    ["# comment", false],
    ["", false],
    ["[unclosed", true],
    ["(broken", true],
  ];
  for (const [id, isSigned] of cases) {
    it(`${isSigned ? "signs" : "does not sign"} ${JSON.stringify(id)} by the lines of autosign_file`, () => {
      assert.equal(rules({ lines }).autosign.isAutoSigned(id), isSigned);
      assert.equal(rules({ rejects: lines }).autosign.isAutoRejected(id), isSigned);
    });
  }

  it("reads a file again when it changes", () => {
    const { directory, autosign } = rules({ lines: "a\n" });
    assert.equal(autosign.isAutoSigned("b"), false);
    writeFileSync(join(directory, "sign"), "b\n");
    utimesSync(join(directory, "sign"), 2_000, 2_000);
    assert.equal(autosign.isAutoSigned("b"), true);
  });

  it("ignores files that others, or without permission the group, may write", () => {
    for (const [mode, isPermissive, isRead] of [
      [0o644, false, true],
      [0o646, true, false],
      [0o664, false, false],
    ] as const) {
      const { directory, autosign } = rules({ lines: "a\n", isPermissive });
      chmodSync(join(directory, "sign"), mode);
      assert.equal(autosign.isAutoSigned("a"), isRead, mode.toString(8));
    }
  });

  it("is not slowed by a pattern that a hostile id could make explode", () => {
    const { autosign } = rules({ lines: "(a+)+b\n" });
    const startedMs = performance.now();
    assert.equal(autosign.isAutoSigned("a".repeat(255)), false);
    assert.ok(performance.now() - startedMs < 5_000);
  });

  it("consumes the file in minions_autosign, unless it is too old", () => {
    const { directory, autosign } = rules();
    const file = join(directory, "minions_autosign", "web1");
    writeFileSync(file, "");
    assert.equal(autosign.isAutoSigned("web1"), true);
    assert.equal(existsSync(file), true, "the key is not written yet");
    autosign.noteDecided();
    assert.equal(existsSync(file), false);
    assert.equal(autosign.isAutoSigned("web1"), false);
    writeFileSync(file, "");
    const old = Date.now() / 1_000 - 121 * 60;
    utimesSync(file, old, old);
    assert.equal(autosign.isAutoSigned("web1"), false);
    autosign.noteDecided();
    assert.equal(existsSync(file), false, "one that is too old goes as well");
    assert.equal(autosign.isAutoSigned("../minions_autosign"), false);
  });

  it("signs by a grain whose value stands on a line of its file", () => {
    const { directory, autosign } = rules();
    writeFileSync(join(directory, "grains", "uuid"), "# hosts\nab-12\nTrue\n1.0\nNone\n7\n");
    const signs = (value: Value, name = "uuid") =>
      autosign.isAutoSigned("x", (asked) => (asked === name ? value : undefined));
    for (const value of ["ab-12", true, new Float(1), null, 7]) assert.equal(signs(value), true, String(value));
    for (const value of ["ab", false, 1, "# hosts", [7]]) assert.equal(signs(value), false, String(value));
    assert.equal(signs("ab-12", "other"), false);
    assert.equal(autosign.isAutoSigned("x"), false);
  });
});
