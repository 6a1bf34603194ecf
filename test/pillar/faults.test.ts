/**
 * Messages about faults in pillar files, for the minion and the master's log: compared with Salt
 * 3007.15 one by one, without the source that Salt shows.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../src/config/load.ts";
import { PillarCompiler } from "../../src/pillar/compile.ts";
import { grains, settingsOf } from "./rendering.ts";

const top = "base:\n  '*': [a]\n";
const failed = "Rendering SLS 'a' failed, render error:\n";
const failedTop = "Rendering Primary Top file failed, render error:\n";

/** `ROOT` stands for the pillar root. `log`: set if the log says more than the minion gets. */
type Fault = { files: Record<string, string | Buffer>; error: string; log?: string; options?: Overrides };

const faults: Record<string, Fault> = {
  "a tag that is not closed: the line of the last token": {
    files: { "a.sls": "a: 1\n{% if x %}\nb: 2\n" },
    error: `${failed}Jinja syntax error: Unexpected end of template. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be closed is 'if'.; line 2; file ROOT/a.sls`,
  },
  "a tag that nothing opened": {
    files: { "a.sls": "a: 1\n{% endfor %}\n" },
    error: `${failed}Jinja syntax error: Encountered unknown tag 'endfor'.; line 2; file ROOT/a.sls`,
  },
  "an undefined variable": {
    files: { "a.sls": "a: 1\nb: {{ nothing }}\n" },
    error: `${failed}Jinja variable 'nothing' is undefined; line 2; file ROOT/a.sls`,
  },
  "an undefined variable in a macro of another file": {
    files: {
      "a.sls": "{% from 'maps/lib.jinja' import m %}\na: {{ m() }}\n",
      "maps/lib.jinja": "{% macro m() %}\n\n{{ nope }}\n{% endmacro %}\n",
    },
    error: `${failed}Jinja variable 'nope' is undefined; line 3; file ROOT/maps/lib.jinja`,
  },
  "a syntax error in another file": {
    files: { "a.sls": "a: 1\n{% import 'lib.jinja' as l %}\n", "lib.jinja": "{% set x = 1 %}\n\n{{ nope }\n" },
    error: `${failed}Jinja syntax error: unexpected '}'; line 3; file ROOT/lib.jinja`,
  },
  "a template that is not there": {
    files: { "a.sls": "a: 1\n{% import 'none.jinja' as l %}\n" },
    error: `${failed}Jinja error: none.jinja; line 2; file ROOT/a.sls`,
  },
  "a template that includes itself": {
    files: { "a.sls": "{% include 'a.sls' %}\n" },
    error: `${failed}Jinja error: maximum recursion depth exceeded; line 1; file ROOT/a.sls`,
  },
  "a key of the pillar that is not there, with pillar_raise_on_missing": {
    files: { "a.sls": "x: 1\na: {{ salt['pillar.get']('no:such') }}\n" },
    options: { pillar_raise_on_missing: true },
    error: `${failed}Jinja error: 'Pillar key not found: no:such'; line 2; file ROOT/a.sls`,
  },
  "such a key in the top file": {
    files: { "top.sls": "base:\n  '{{ salt.pillar.get('it\\'s') }}*': [a]\n" },
    options: { pillar_raise_on_missing: true },
    error: `${failedTop}Jinja error: "Pillar key not found: it's"; line 2; file ROOT/top.sls`,
  },
  "YAML that is wrong": {
    files: { "a.sls": "a: 1\na: 2\n" },
    error: `${failed}a is repeated here; line 2; file ROOT/a.sls`,
  },
  "indentation that is wrong": {
    files: { "a.sls": "a:\n  b: 1\n c: 2\n" },
    error: `${failed}All mapping items must start at the same column; line 3; file ROOT/a.sls`,
  },
  "YAML that a template makes: the line is one of what it renders to": {
    files: { "a.sls": "{% for x in [1, 2] %}\nb: {{ x }}\n{% endfor %}\n" },
    error: `${failed}b is repeated here; line 4 of the rendered text; file ROOT/a.sls`,
  },
  "JSON that is wrong": {
    files: { "a.sls": '#!json\n{"a": }\n' },
    error: `${failed}Jinja syntax error: Unable to load json; file ROOT/a.sls`,
  },
  "a renderer that there is not": {
    files: { "a.sls": "#!mako|yaml\na: 1\n" },
    error: `${failed}the renderer 'mako' is not supported; line 1; file ROOT/a.sls`,
  },
  "bytes that are not UTF-8": {
    files: { "a.sls": Buffer.from("a: 1\nb: \xe4\n", "latin1") },
    error: `${failed}the file is not UTF-8; line 2; file ROOT/a.sls`,
  },
  "a file that an included one includes": {
    files: { "a.sls": "include: [b.c]\n", "b/c.sls": "x: 1\ny: {{ 1/0 }}\n" },
    error: "Rendering SLS 'b.c' failed, render error:\nJinja error: division by zero; line 2; file ROOT/b/c.sls",
  },
  "an include that is not there": {
    files: { "a.sls": "include: [none]\n" },
    error: "Specified SLS 'none' in environment 'base' is not available on the salt master",
    log: "; file ROOT/a.sls",
  },
  "a file of the top file that is not there": {
    files: {},
    error: "Specified SLS 'a' in environment 'base' is not available on the salt master",
    log: "; file top.sls",
  },
  "a file that is not a map": {
    files: { "a.sls": "- x\n" },
    error: "SLS 'a' does not render to a dictionary",
    log: "; file ROOT/a.sls",
  },
  "an include that is not a list": {
    files: { "a.sls": "include: b\n" },
    error: "Include Declaration in SLS 'a' is not formed as a list",
    log: "; file ROOT/a.sls",
  },
  "a tag without its expression in the top file": {
    files: { "top.sls": "base:\n{% if %}\n" },
    error: `${failedTop}Jinja syntax error: Expected an expression, got 'end of statement block'; line 2; file ROOT/top.sls`,
  },
  "YAML of the top file": {
    files: { "top.sls": "base:\n  '*': [a\n" },
    error: `${failedTop}Flow sequence in block collection must be sufficiently indented and end with a ]; line 3; file ROOT/top.sls`,
  },
  "a top file that is not a map of maps": {
    files: { "top.sls": "base: [a]\n" },
    error: "Error encountered while rendering pillar top file.",
    log: " Jinja error: an environment of a top file must be a map of targets; file top.sls",
  },
};

describe("a fault in a pillar's files names file and line", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "sw-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  for (const [name, { files, error, log = "", options = {} }] of Object.entries(faults)) {
    it(name, () => {
      for (const [path, text] of Object.entries({ "top.sls": top, ...files })) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), text);
      }
      const settings = settingsOf({ pillar_roots: { base: [root] }, pillar_safe_render_error: false, ...options });
      const request = {
        minion: { id: "m1", grains: grains() },
        saltenv: undefined,
        pillarenv: undefined,
        override: new Map(),
      };
      const { pillar, faults: told } = new PillarCompiler(settings).compile(request);
      const errors = pillar.get("_errors");
      assert.ok(Array.isArray(errors), "it has errors");
      assert.deepEqual(new Set(errors), new Set([error.replaceAll("ROOT", root)]));
      assert.deepEqual(told, [(error + log).replaceAll("ROOT", root)]);
    });
  }
});
