/** External sources that read files: hostile files, minions' values in paths, and merges of marked values. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../src/config/load.ts";
import { extPillarBytesMax } from "../../src/limits.ts";
import { PillarCompiler } from "../../src/pillar/compile.ts";
import { csvRows } from "../../src/python/csv.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { grains, settingsOf, writeBelow } from "./rendering.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "external-files-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string) => writeBelow(root, path, text);

function compiled(options: Overrides, more: readonly (readonly [string, Value])[] = []): ValueMap {
  const settings = settingsOf({ pillar_roots: { base: [join(root, "base")] }, ...options });
  const minion = { id: "web1", grains: new Map([...grains(), ["id", "web1"] as const, ...more]) };
  return new PillarCompiler(settings).compile({
    minion,
    saltenv: undefined,
    pillarenv: undefined,
    override: new Map(),
  }).pillar;
}

const errorsOf = (pillar: ValueMap) => String(pillar.get("_errors"));

/** As a user who is bound by the modes of files. */
function asStranger<T>(run: () => T): T {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(65_534);
  try {
    return run();
  } finally {
    process.seteuid?.(0);
  }
}

describe("stack", () => {
  const source = () => ({ ext_pillar: [{ stack: join(root, "stack", "stack.cfg") }] });

  it("reaches no file outside of its directory, whatever a grain says", () => {
    write("stack/stack.cfg", "a.yml\n{{ __grains__['role'] }}.yml\n");
    write("stack/a.yml", "a: 1\n");
    write("secret.yml", "secret: 1\n");
    assert.equal(compiled(source(), [["role", "none"]]).get("a"), 1);
    for (const role of ["../secret", join(root, "secret"), "x/../../secret", "./../secret"]) {
      const pillar = compiled(source(), [["role", role]]);
      assert.equal(pillar.has("secret"), false, role);
    }
    assert.match(errorsOf(compiled(source(), [["role", "../secret"]])), /render error in .*secret\.yml/);
  });

  it("names file and line of a fault, without the text", () => {
    write("stack/stack.cfg", "a.yml\n");
    write("stack/a.yml", "password: hunter2\nb: [\n");
    const yaml = errorsOf(compiled(source()));
    assert.match(yaml, /^Failed to load ext_pillar stack: Stack pillar yaml parsing error in .*a\.yml, line \d/);
    assert.doesNotMatch(yaml, /hunter2/);
    write("stack/a.yml", "a: 1\nb: {{ 1 / 0 }}\n");
    assert.match(errorsOf(compiled(source())), /render error in .*a\.yml, line 2/);
    write("stack/a.yml", `${"[".repeat(5_000)}\n`);
    assert.match(errorsOf(compiled(source())), /yaml parsing error/);
  });

  it("gives keys named like JavaScript's own as data", () => {
    write("stack/stack.cfg", "a.yml\nb.yml\n");
    write("stack/a.yml", "__proto__: {a: 1}\nconstructor: {a: 1}\n");
    write("stack/b.yml", "__proto__: {b: 2}\nseen: '{{ stack.toString }}{{ stack['__proto__'].a }}'\n");
    const pillar = compiled(source());
    assert.deepEqual(
      pillar.get("__proto__"),
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
    assert.equal(pillar.get("seen"), "1");
    assert.equal(({} as { a?: number }).a, undefined);
  });

  it("is an error of its own if a path cannot be looked at, and the next source still counts", () => {
    write("csv/table.csv", "id,place\nweb1,here\n");
    write("stack/closed/a.yml", "a: 1\n");
    chmodSync(root, 0o755);
    chmodSync(join(root, "stack", "closed"), 0o000);
    const long = "x".repeat(5_000);
    for (const [list, line, code] of [
      ["stack.cfg", `${long}.yml`, "ENAMETOOLONG"],
      ["stack.cfg", "closed/*.yml", "EACCES"],
      ["stack.cfg", "closed/a.yml", "EACCES"],
      [long, "", "ENAMETOOLONG"],
    ] as const) {
      write("stack/stack.cfg", `${line}\n`);
      const ext_pillar = [{ stack: join(root, "stack", list) }, { csv: join(root, "csv", "table.csv") }];
      const pillar = asStranger(() => compiled({ ext_pillar }));
      assert.match(errorsOf(pillar), new RegExp(`Failed to load ext_pillar stack: .* cannot be looked at: ${code}$`));
      assert.equal(pillar.get("place"), "here");
    }
  });

  it("ends a template that loops without end", () => {
    write("stack/stack.cfg", "a.yml\n");
    write(
      "stack/a.yml",
      "{% for a in range(90000) %}{% for b in range(90000) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
    );
    assert.match(errorsOf(compiled(source())), /renders to more than \d+ characters/);
  });
});

describe("csv", () => {
  it("refuses a table over extPillarBytesMax and names a missing one", () => {
    const path = join(root, "table.csv");
    write("table.csv", "id,a\nweb1,1\n");
    const options = { ext_pillar: [{ csv: path }] };
    assert.equal(compiled(options).get("a"), "1");
    truncateSync(path, extPillarBytesMax + 1);
    assert.match(errorsOf(compiled(options)), /^Failed to load ext_pillar csv: .* bytes \(most: \d+\)$/);
    rmSync(path);
    assert.match(errorsOf(compiled(options)), /table\.csv cannot be read: ENOENT$/);
  });

  it("reads rows as Python does", () => {
    assert.deepEqual(
      [...csvRows('a,"b ""c"" d"x,\r\n\r\n"e\r\nf", g\n"open', "excel")],
      [["a", 'b "c" dx', ""], [], ["e\nf", " g"], ["open"]],
    );
    assert.deepEqual([...csvRows("", "unix")], []);
    assert.throws(() => [...csvRows("x".repeat(131_073), "excel")], /field larger than field limit \(131072\)/);
  });
});

describe("nodegroups", () => {
  it("that match by pillar are an error instead of a guess", () => {
    const nodegroups = { web: "web*", role: "web* and I@role:web", regex: "J|@role|web" };
    const error = "Failed to load ext_pillar nodegroups: nodegroup role matches by pillar";
    assert.ok(errorsOf(compiled({ nodegroups, ext_pillar: [{ nodegroups: {} }] })).startsWith(error));
  });
});

describe("YAMLEX", () => {
  it("that is invalid, nested too deep or has other tags is an error with file and line", () => {
    write("base/top.sls", "base: {'*': [a]}\n");
    const options = { renderer: "yamlex", pillar_safe_render_error: false };
    for (const [text, reason] of [
      ["a: 1\nb: [\n", /line \d/],
      [`a: ${"[".repeat(5_000)}${"]".repeat(5_000)}\n`, /deep|line/],
      ["a: 1\nb: !python/object:os.system x\n", /Unresolved tag.*line 2/s],
      ["a: 0x1F\n", /invalid literal for int\(\) with base 10: '0x1F'/],
    ] as const) {
      write("base/a.sls", text);
      assert.match(errorsOf(compiled(options)), reason);
    }
    write("base/a.sls", "a: !aggregate 1\na: !aggregate 2\n");
    assert.deepEqual(compiled(options).get("a"), [1, 2]);
  });
});
