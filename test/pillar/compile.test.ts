import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { PillarCompiler } from "../../src/pillar/compile.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { answersOf, corpusOf } from "./corpus.ts";
import { refusedHere } from "./refused.ts";
import { grains, settingsOf } from "./rendering.ts";

type Case = {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly roots?: Readonly<Record<string, readonly string[]>>;
  readonly master?: ConfigMap;
  readonly minion?: {
    readonly id?: string;
    readonly saltenv?: string;
    readonly pillarenv?: string;
    readonly override?: object;
  };
};
type Answer = { readonly pillar?: string; readonly raised?: string };

function toValue(value: unknown): Value {
  if (typeof value !== "object" || value === null) return value as Value;
  return new Map(Object.entries(value).map(([key, member]): [Value, Value] => [key, toValue(member)]));
}

/** Salt adds its parser's position and the source around it. */
function firstLines(pillar: ValueMap): ValueMap {
  const errors = pillar.get("_errors");
  if (!Array.isArray(errors)) return pillar;
  const short = errors.map((error) => String(error).split(/; line |\nwhile parsing|\nFlow/)[0] ?? "");
  return new Map(pillar).set("_errors", short);
}

describe("pillars compile as in Salt", () => {
  const answers = answersOf<Answer>("pillars");
  for (const given of corpusOf<readonly Case[]>("pillars")) {
    it(given.name, () => {
      const root = mkdtempSync(join(tmpdir(), "pillar-"));
      try {
        for (const [path, text] of Object.entries(given.files)) {
          mkdirSync(dirname(join(root, path)), { recursive: true });
          writeFileSync(join(root, path), text);
        }
        const roots = Object.entries(given.roots ?? { base: ["base"] });
        const pillarRoots = Object.fromEntries(
          roots.map(([name, below]) => [name, below.map((path) => join(root, path))]),
        );
        const { id = "web1.example.org", saltenv, pillarenv, override = {} } = given.minion ?? {};
        const compiler = new PillarCompiler(settingsOf({ ...given.master, pillar_roots: pillarRoots }));
        const minion = { id, grains: grains() };
        minion.grains.set("id", id);
        const { pillar } = compiler.compile({ minion, saltenv, pillarenv, override: toValue(override) as ValueMap });
        const answer = answers[given.name];
        if (answer?.pillar === undefined) {
          // In Salt the minion gets no pillar here; ours gets one with an error.
          assert.ok(pillar.has("_errors"));
          return;
        }
        const options = pillar.get("master");
        if (options instanceof Map) pillar.set("master", new Map([["id", options.get("id") ?? null]]));
        const theirs = decode(Buffer.from(answer.pillar, "base64")) as ValueMap;
        assert.deepEqual(firstLines(pillar), firstLines(theirs));
        if (refusedHere.unordered.includes(given.name)) return;
        assert.ok(encode(firstLines(pillar), "bin").equals(encode(firstLines(theirs), "bin")), "keys in another order");
      } finally {
        rmSync(root, { recursive: true });
      }
    });
  }
});

describe("a pillar whose sources are not all there", () => {
  const compiled = (options: ConfigMap) => {
    const root = mkdtempSync(join(tmpdir(), "pillar-"));
    try {
      writeFileSync(join(root, "top.sls"), "base: {'*': [a]}\n");
      writeFileSync(join(root, "a.sls"), "a: 1\n");
      const compiler = new PillarCompiler(settingsOf({ pillar_roots: { base: [root] }, ...options }));
      const minion = { id: "web1", grains: grains() };
      return compiler.compile({ minion, saltenv: undefined, pillarenv: undefined, override: new Map() }).pillar;
    } finally {
      rmSync(root, { recursive: true });
    }
  };

  it("has all existing files, and an error for each missing one", () => {
    const pillar = compiled({ ext_pillar: [{ vault: "x" }, { nacl: [] }], decrypt_pillar: [{ b: "nacl" }] });
    assert.equal(pillar.get("a"), 1);
    assert.deepEqual(pillar.get("_errors"), [
      "ext_pillar: vault is not available on the master",
      "ext_pillar: nacl is not available on the master",
      "decrypt_pillar: nacl is not available on the master",
    ]);
  });

  it("has none for empty sources, nor for options that do not feed pillars", () => {
    const pillar = compiled({ ext_pillar: [], fileserver_backend: ["git"], fips_mode: true });
    assert.deepEqual([...pillar.keys()], ["a"]);
  });
});
