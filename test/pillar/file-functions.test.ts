/** `cp.get_file_str` in pillars: the answers are those of Salt 3006.28 and 3007.15, except for `..` and for bytes that are not text. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { PillarCompiler } from "../../src/pillar/compile.ts";
import type { Value } from "../../src/wire/values.ts";
import { grains, settingsOf } from "./rendering.ts";

describe("cp.get_file_str in a pillar", () => {
  let directory = "";

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "pillar-files-"));
    for (const name of ["pillar", "files", "dev", "any"]) mkdirSync(join(directory, name));
    writeFileSync(join(directory, "pillar", "top.sls"), "base:\n  '*': [a]\n");
    writeFileSync(join(directory, "local.txt"), "hello\nworld\n");
    writeFileSync(join(directory, "bytes"), Buffer.of(0xff, 0xfe));
    writeFileSync(join(directory, "large"), Buffer.alloc(5 * 1024 * 1024, 0x61));
    writeFileSync(join(directory, "files", "b.txt"), "served {{ 1 }}\n");
    writeFileSync(join(directory, "dev", "c.txt"), "of dev");
    mkdirSync(join(directory, "any", "qa"));
    writeFileSync(join(directory, "any", "qa", "d.txt"), "of qa");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function pillarOf(expression: string): ReadonlyMap<Value, Value> {
    writeFileSync(join(directory, "pillar", "a.sls"), `x: {{ ${expression.replaceAll("DIR", directory)}|json }}\n`);
    const settings = settingsOf({
      pillar_roots: { base: [join(directory, "pillar")] },
      pillar_safe_render_error: false,
      file_roots: {
        base: [join(directory, "files")],
        dev: [join(directory, "dev")],
        __env__: [join(directory, "any", "__env__")],
      },
    });
    const minion = { id: "web1.example.org", grains: grains() };
    const request = { minion, saltenv: undefined, pillarenv: undefined, override: new Map() };
    return new PillarCompiler(settings).compile(request).pillar;
  }

  const answers: [expression: string, answer: Value][] = [
    ["salt['cp.get_file_str']('DIR/local.txt')", "hello\nworld\n"],
    ["salt['cp.get_file_str']('file://DIR/local.txt')", "hello\nworld\n"],
    ["salt['cp.get_file_str']('salt://b.txt')", "served {{ 1 }}\n"],
    ["salt['cp.get_file_str']('salt://c.txt', saltenv='dev')", "of dev"],
    ["salt['cp.get_file_str']('salt://c.txt?saltenv=dev')", "of dev"],
    ["salt['cp.get_file_str']('salt://d.txt', saltenv='qa')", "of qa"],
    ["salt['cp.get_file_str']('salt://b.txt', saltenv='dev')", false],
    ["salt['cp.get_file_str']('salt://d.txt', saltenv='../any/qa')", false],
    ["salt['cp.get_file_str']('salt://../local.txt')", false],
    ["salt['cp.get_file_str']('salt://none')", false],
    ["salt['cp.get_file_str']('DIR/none')", false],
    ["salt['cp.get_file_str']('DIR')", false],
  ];
  for (const [expression, answer] of answers) {
    it(`${expression} is ${JSON.stringify(answer)}`, () => {
      assert.equal(pillarOf(expression).get("x"), answer);
    });
  }

  const refusals: [expression: string, why: RegExp][] = [
    ["salt['cp.get_file_str']('DIR/files/../local.txt')", /refuses '\.\.' in /],
    ["salt['cp.get_file_str']('local.txt')", /Path 'local\.txt' is not absolute; line 1/],
    ["salt['cp.get_file_str']('https://127.0.0.1/x')", /does not read https addresses/],
    ["salt['cp.get_file_str']('DIR/bytes')", /the file is not UTF-8/],
    ["salt['cp.get_file_str']('DIR/large')", /has 5242880 bytes \(most: 4194304\)/],
  ];
  for (const [expression, why] of refusals) {
    it(`${expression} is refused`, () => {
      const pillar = pillarOf(expression);
      assert.equal(pillar.has("x"), false);
      assert.match(JSON.stringify(pillar.get("_errors")), why);
    });
  }
});
