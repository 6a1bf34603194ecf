/** Files of the reactor: what an event's files render to, in which order, and what is said of files with faults. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { reactionsOfEventMax } from "../../../src/limits.ts";
import { ReactionRenderer } from "../../../src/pillar/reactor/reactions.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { settingsOf } from "../rendering.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "reactor-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function render(files: Readonly<Record<string, string>>, references: readonly string[], data: ValueMap = new Map()) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const renderer = new ReactionRenderer(settingsOf({ file_roots: { base: [join(root, "served")] } }), "the_master");
  const { chunks, faults } = renderer.reactions(
    "a/tag",
    data,
    references.map((reference) => (reference.startsWith("salt://") ? reference : join(root, reference))),
  );
  return { chunks, faults, ids: chunks.map((chunk) => String(chunk.get("__id__"))) };
}

const call = (id: string, more = "") => `${id}:\n  runner.test.arg: [{args: {a: 1}}${more}]\n`;

describe("the files of an event", () => {
  it("see its tag and data, and the master's options", () => {
    const text = "{{ tag }} {{ data['id'] }}:\n  local.test.ping: [{tgt: '{{ opts['id'] }}'}]\n";
    const { chunks, faults } = render({ "a.sls": text }, ["a.sls"], new Map<Value, Value>([["id", "grüße"]]));
    assert.deepEqual(faults, []);
    const [chunk] = chunks;
    assert.deepEqual(
      ["__id__", "state", "fun", "__sls__"].map((name) => chunk?.get(name)),
      ["a/tag grüße", "local", "test.ping", join(root, "a.sls")],
    );
    assert.equal(typeof chunk?.get("tgt"), "string");
  });

  it("come from paths, wildcards and the file roots", () => {
    const files = {
      "parts/b.sls": call("b"),
      "parts/a.sls": call("a"),
      "parts/.hidden.sls": call("hidden"),
      "served/s.sls": `{% from "m.jinja" import name %}\n${call("{{ name }}")}`,
      "served/m.jinja": "{% set name = 'served' %}",
    };
    assert.deepEqual(render(files, ["parts/*.sls", "salt://s.sls"]).ids, ["a", "b", "served"]);
    assert.deepEqual(render(files, ["p*/a.sls"]).ids, ["a"]);
    assert.match(render(files, ["salt://../parts/a.sls"]).faults[0] ?? "", /File missing or not found/);
  });

  it("are ordered by `order`, then by kind, name and function, across files", () => {
    const files = {
      "one.sls": call("z") + call("last", ", {order: last}") + call("second", ", {order: 2}"),
      "two.sls": call("b") + call("first", ", {order: first}") + call("before the last", ", {order: -1}"),
    };
    assert.deepEqual(render(files, ["one.sls", "two.sls"]).ids, [
      ...["first", "second", "b", "z", "before the last", "last"],
    ]);
  });

  it("may declare a reaction of the same name again, and the later one wins", () => {
    const files = { "one.sls": call("same"), "two.sls": "same:\n  wheel.key.list_all: []\n" };
    const { chunks } = render(files, ["one.sls", "two.sls"]);
    assert.deepEqual(
      chunks.map((chunk) => chunk.get("fun")),
      ["key.list_all"],
    );
  });

  it("know the short form, the alias cmd, and names", () => {
    const text = "short: local.test.ping\nold:\n  cmd.test.ping: [{tgt: '*'}, {names: [n1, n2: [{tgt: web}]]}]\n";
    const { chunks } = render({ "a.sls": text }, ["a.sls"]);
    assert.deepEqual(
      chunks.map((chunk) => ["state", "name", "tgt", "fun"].map((name) => chunk.get(name))),
      [
        ["local", "short", undefined, "test.ping"],
        ["local", "n1", "*", "test.ping"],
        ["local", "n2", "web", "test.ping"],
      ],
    );
  });
});

describe("files with faults", () => {
  it("leave the other files of their event", () => {
    const files = {
      "broken.sls": "{% for %}\n",
      "yaml.sls": "a: [\n",
      "list.sls": "- a\n",
      "undefined.sls": "{{ data.no.such }}\n",
      "good.sls": call("good"),
    };
    const { ids, faults } = render(files, [
      ...["broken.sls", "none.sls", "yaml.sls", "list.sls", "undefined.sls", "good.sls"],
    ]);
    assert.deepEqual(ids, ["good"]);
    assert.equal(faults.length, 5);
    for (const [index, name] of ["broken", "none", "yaml", "list", "undefined"].entries())
      assert.match(faults[index] ?? "", new RegExp(`/${name}\\.sls`));
  });

  it("keep the event from reacting if a declaration is invalid", () => {
    const valid = call("good");
    for (const [text, fault] of [
      ["a:\n  local: [test.ping, test.arg]\n", /Too many functions declared in state 'a'/],
      ["a:\n  local: [{tgt: '*'}]\n", /No function declared in state 'a'/],
      ["a:\n  local.test.ping: {tgt: '*'}\n", /not formed as a list/],
      ["a:\n  local: [test ping]\n", /has whitespace/],
      ["1:\n  local.test.ping: []\n", /ID '1' .* not formed as a string/],
      ["a:\n  local.test.ping: [{tgt: '*', arg: []}]\n", /Multiple dictionaries/],
    ] as const) {
      const { ids, faults } = render({ "a.sls": text, "good.sls": valid }, ["good.sls", "a.sls"]);
      assert.deepEqual(ids, [], text);
      assert.match(faults.join("\n"), fault);
    }
  });

  it("say which function of a name has no effect", () => {
    const { ids, faults } = render({ "a.sls": "a:\n  local.test.ping: []\n  local.test.arg: []\n" }, ["a.sls"]);
    assert.deepEqual(ids, ["a"]);
    assert.match(faults[0] ?? "", /'local.test.ping' of 'a' has no effect/);
  });

  it("cannot start more reactions than the bound", () => {
    const text = `{% for i in range(${reactionsOfEventMax + 1}) %}\nid {{ i }}:\n  local.test.ping: [{tgt: x}]\n{% endfor %}\n`;
    const { ids, faults } = render({ "a.sls": text }, ["a.sls"]);
    assert.deepEqual(ids, []);
    assert.match(faults[0] ?? "", new RegExp(`more than ${reactionsOfEventMax}`));
  });
});

describe("data of an event", () => {
  const evil = new Map<Value, Value>([["name", 'x"\nadded:\n  local.cmd.run: [{tgt: "*"}, {arg: [reboot]}]\n#']]);

  it("writes reactions of its own into a file that does not quote it, as in Salt", () => {
    const free = "a:\n  local.test.ping: [{tgt: x}, {arg: []}]\n# {{ data.name }}\n";
    assert.ok(render({ "b.sls": free }, ["b.sls"], evil).ids.includes("added"));
  });

  it("stays one value behind the filters json, yaml_dquote and yaml_encode", () => {
    for (const filter of ["json", "yaml_dquote", "yaml_encode", "tojson"]) {
      const text = `a:\n  local.test.arg:\n    - tgt: x\n    - arg: [{{ data.name | ${filter} }}]\n`;
      const { chunks, faults } = render({ [`${filter}.sls`]: text }, [`${filter}.sls`], evil);
      assert.deepEqual(faults, [], filter);
      assert.deepEqual(
        chunks.map((chunk) => chunk.get("arg")),
        [[evil.get("name")]],
        filter,
      );
    }
  });
});
