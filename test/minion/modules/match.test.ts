import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { callsIn, openWorld, type World } from "./world.ts";

describe("match", () => {
  let root: string;
  let world: World;
  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-match-"));
    world = await openWorld(root, {
      minion: `id: es1\nroot_dir: ${root}\nnodegroups: {es: 'es* and G@role:data', loop: 'N@loop'}\n`,
      grains: new Map<Value, Value>([
        ["role", ["search", "data"]],
        ["ipv4", ["10.30.1.31", "127.0.0.1"]],
      ]),
      pillar: new Map<Value, Value>([["app", new Map([["name", "elastic"]])]]),
    });
    mkdirSync(world.config.cachedir, { recursive: true });
    writeFileSync(
      join(world.config.cachedir, "datastore"),
      encode({ shelf: ["Top"], word: "hello", number: 5 }, "bin"),
    );
  });
  after(() => rmSync(root, { recursive: true }));

  const call = callsIn(() => world);
  const every = async (expected: boolean, ...calls: readonly (readonly string[])[]) => {
    for (const words of calls) assert.equal(await call(...words), expected, words.join(" "));
  };

  it("decides every kind of target against this minion", async () => {
    await every(
      true,
      ["match.glob", "es*"],
      ["match.list", "es2,es1"],
      ["match.pcre", "es"],
      ["match.grain", "role:DATA"],
      ["match.grain", "role/data", "delimiter=/"],
      ["match.grain_pcre", "role:(da|we).*"],
      ["match.pillar", "app:name:elas*"],
      ["match.pillar_pcre", "app:name:e[l]"],
      ["match.ipcidr", "10.30.0.0/16"],
      ["match.compound", "web* or ( G@role:search and not es2 )"],
      ["match.compound", "N@es"],
      ["match.data", "shelf:top"],
      ["match.data", "word:hel*"],
    );
  });
  it("answers False without a match, and for a target that cannot be read, which is logged", async () => {
    await every(
      false,
      ["match.glob", "web*"],
      ["match.ipcidr", "10.30.1.1/16"],
      ["match.compound", "es1 and"],
      ["match.compound", "N@loop"],
      ["match.pcre", "["],
      ["match.data", "number:5"],
      ["match.data", "nothing:x"],
    );
    assert.ok(world.logged.some((line) => line.includes('illegal nested nodegroup "loop"')));
    assert.ok(world.logged.some((line) => line.includes("unterminated character set")));
  });
  it("decides ids against another minion's name", async () => {
    await every(true, ["match.glob", "web*", "minion_id=web1"], ["match.compound", "web1", "minion_id=web1"]);
    await every(false, ["match.list", "es1", "minion_id=web1"]);
  });
  it("chooses by targets", async () => {
    assert.equal(await call("match.filter_by", "{web1: one, 'es*': two, default: other}"), "two");
    assert.equal(await call("match.filter_by", "{web1: one, default: other}"), "other");
    assert.equal(await call("match.filter_by", "{web1: one}"), null);
    assert.deepEqual(
      await call("match.filter_by", "{es1: {a: 1}}", "merge={b: 2}"),
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
    assert.equal(await call("match.filter_by", "{'role:data': yes it is}", "tgt_type=grain"), "yes it is");
    assert.deepEqual(await call("match.search_by", "{a: [es1], b: ['es*', web1], c: [x]}"), ["a", "b"]);
    assert.equal(await call("match.search_by", "{c: [x]}"), null);
    assert.equal(await call("match.ifelse", "web*", "one", "es*", "two", "other"), "two");
    assert.equal(await call("match.ifelse", "web*", "one", "other"), "other");
  });
});
