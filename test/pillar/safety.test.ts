import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pillarTextBytesMax, templateDepthMax, templateRangeMax } from "../../src/limits.ts";
import { renderOne } from "./rendering.ts";

const failing = (template: string, message: RegExp, files: Record<string, string> = {}) =>
  assert.throws(() => renderOne(template, files), { code: "PILLAR_FAILED", message });

describe("templates", () => {
  it("reach no JavaScript object through any value", () => {
    const names = ["constructor", "__proto__", "prototype", "valueOf", "toString", "hasOwnProperty", "call", "apply"];
    const values = [
      "''",
      "1",
      "1.5",
      "true",
      "none",
      "[]",
      "{}",
      "()",
      "grains",
      "opts",
      "salt",
      "range",
      "loop",
      "namespace()",
      "''.upper",
    ];
    for (const value of values) {
      for (const name of names) {
        const isModule = value === "salt";
        const template = `{% for x in [1] %}{{ ${value}.${name} is defined }}{{ ${value}['${name}'] is defined }}{% endfor %}`;
        if (isModule) failing(`{{ salt.${name}() }}`, /not callable|no attribute/);
        else assert.equal(renderOne(template), "FalseFalse", `${value}.${name}`);
      }
    }
  });

  it("may use such names for keys of their own", () => {
    const template =
      "{% set d = {'__proto__': 1, 'constructor': 2} %}{{ d }}{{ d['__proto__'] }}{{ {}['__proto__'] is defined }}";
    assert.equal(renderOne(template), "{'__proto__': 1, 'constructor': 2}1False");
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("do not render what a grain holds", () => {
    assert.equal(renderOne("{% set grain = '{{ grains.os }}' %}{{ grain }}"), "{{ grains.os }}");
  });

  it("cannot call functions of the machine", () => {
    failing("{{ salt['cmd.run']('id') }}", /salt\['cmd.run'\] is not supported/);
    failing("{{ salt.cmd.run('id') }}", /salt\['cmd.run'\] is not supported/);
  });

  it("end if their text is too long", () => {
    failing(`{{ 'x' * ${pillarTextBytesMax + 1} }}`, /too large/);
    failing("{% set x = 'x' * 1000000 %}{% for a in range(100) %}{{ x }}{% endfor %}", /renders to more than/);
    failing("{{ '%0999999999d' % 1 }}", /too big/);
    failing("{{ 10 ** 1000000 }}", /too large/);
  });

  it("end if a range or recursion is too large", () => {
    failing(`{% for a in range(${templateRangeMax + 1}) %}{% endfor %}`, /Range too big/);
    failing("{% include 'a' %}", /recursion depth/, { a: "{% include 'a' %}" });
    const deep = Array.from({ length: templateDepthMax - 2 }, (_, index): [string, string] => [
      `f${index}`,
      index === 0 ? "end" : `{% include 'f${index - 1}' %}`,
    ]);
    assert.equal(renderOne(`{% include 'f${templateDepthMax - 3}' %}`, Object.fromEntries(deep)), "end");
    failing(`{{ ${"(".repeat(500)}1${")".repeat(500)} }}`, /too deep/);
  });
});
