import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ModuleFunction } from "../../../src/minion/functions/module-contract.ts";
import { moduleNames } from "../../../src/minion/modules/declare/module-functions.ts";
import type { FullSignature } from "../../../src/minion/modules/declare/signature.ts";
import { loadModules } from "../../../src/minion/modules/registry.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { Float, type Value, type ValueMap } from "../../../src/wire/values.ts";
import { repositoryRoot } from "../../root.ts";

const everything = { disable_modules: [], whitelist_modules: [] };
const functions = loadModules(everything, { SHELL: "/bin/sh" });
const moduleOf = (name: string) => name.split(".")[0] ?? "";

function modulesOf(table: Iterable<string>): string[] {
  return [...new Set(Array.from(table, moduleOf))].sort();
}

describe("the table of functions", () => {
  it("has every module of moduleNames", () => assert.deepEqual(modulesOf(functions.keys()), [...moduleNames]));

  it("leaves out what disable_modules names", () => {
    const table = loadModules({ ...everything, disable_modules: ["cmd", "mine"] }, {});
    assert.deepEqual(
      modulesOf(table.keys()),
      moduleNames.filter((name) => name !== "cmd" && name !== "mine"),
    );
  });

  it("has only the modules in whitelist_modules, if that names any", () => {
    const table = loadModules({ disable_modules: ["sys"], whitelist_modules: ["test", "sys"] }, {});
    assert.deepEqual(modulesOf(table.keys()), ["test"]);
  });

  it("documents every function in the form of a Python docstring, with an example", () => {
    for (const [name, { doc }] of functions) {
      assert.match(doc, /^\n {4}\S/, name);
      // Operators do not type what `saltworks cp` sends.
      if (name.startsWith("cp.recv")) continue;
      assert.ok(doc.includes("CLI Example:\n\n    .. code-block:: bash\n\n        salt '*' "), name);
    }
  });
});

describe("signatures", () => {
  const file = readFileSync(join(repositoryRoot, "test/golden/functions.json"), "utf8");
  const packed = (JSON.parse(file) as { signatures: string }).signatures;
  const salts = decode(Buffer.from(packed, "base64")) as ValueMap;
  /** Salt's minion answers this name before it looks for a function, so its signature is not compared. */
  const differing = new Set(["sys.reload_modules"]);

  it("are the same as those of Salt's functions", () => {
    for (const [name, definition] of functions) {
      const theirs = salts.get(name);
      assert.ok(theirs instanceof Map, `Salt has no ${name}`);
      if (differing.has(name)) continue;
      assert.deepEqual(signatureOf(definition), Object.fromEntries(theirs), name);
    }
  });
});

function signatureOf(definition: ModuleFunction & FullSignature): { readonly [part: string]: Value } {
  const params = [...definition.params, ...(definition.keywordOnly ?? [])];
  const defaults = params.flatMap(({ default: value }) => (value === undefined ? [] : [value]));
  return {
    args: params.length === 0 ? null : params.map(({ name }) => name),
    defaults: defaults.length === 0 ? null : defaults,
    varargs: definition.varargs === undefined ? null : true,
    kwargs: definition.kwargs === undefined || definition.keywordOnly !== undefined ? null : true,
  };
}

describe("docs/functions.md", () => {
  const text = readFileSync(join(repositoryRoot, "docs/functions.md"), "utf8");

  it("lists all functions with their parameters", () => {
    const listed = new Map(
      Array.from(text.matchAll(/^\| `([a-z_]+\.[a-z0-9_]+)\((.*?)\)` \|/gm), ([, a = "", b = ""]) => [a, b]),
    );
    const present = new Map(Array.from(functions, ([name, definition]) => [name, parameterText(definition)]));
    assert.deepEqual(Object.fromEntries([...listed].sort()), Object.fromEntries([...present].sort()));
  });
});

/** In Python's form; of more than ten parameters only the required ones. */
function parameterText(definition: ModuleFunction & FullSignature): string {
  const named = (list: readonly { readonly name: string; readonly default?: Value }[]) =>
    list.map(({ name, default: value }) => (value === undefined ? name : `${name}=${literal(value)}`));
  const keywords = definition.keywordOnly === undefined && definition.kwargs !== undefined ? ["**kwargs"] : [];
  const rest = definition.varargs === undefined ? [] : ["*args"];
  const all = [...named(definition.params), ...rest, ...named(definition.keywordOnly ?? []), ...keywords];
  const required = named(definition.params.filter((param) => param.default === undefined));
  return (all.length > 10 ? [...required, "..."] : all).join(", ");
}

function literal(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Float) return String(value.value);
  return typeof value === "string" ? `'${value}'` : String(value);
}
