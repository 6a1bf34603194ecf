/** Runner `match.compound_matches`: the cases of real Salt's own tests, and what a minion must not be able to learn from it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { encode } from "../../../src/wire/msgpack.ts";
import { callRunner, runnerContext } from "../calling.ts";

const pkiDir = mkdtempSync(join(tmpdir(), "saltworks-match-"));
mkdirSync(join(pkiDir, "minions"));
for (const id of ["alice", "eve", "bob"]) writeFileSync(join(pkiDir, "minions", id), "a key");
after(() => rmSync(pkiDir, { recursive: true }));

const facts = (role: string, name: string) => ({
  grains: encode({ role }, "bin"),
  pillar: encode({ name, secret: "deep" }, "bin"),
});
const known = new Map([
  ["alice", facts("alice", "alice")],
  ["eve", facts("eve", "eve")],
  // A minion whose key was removed, but not its data.
  ["carol", facts("alice", "alice")],
]);
const context = (config: object = {}) =>
  runnerContext({
    config: {
      pki_dir: pkiDir,
      minion_data_cache: true,
      nodegroups: { crypto: "I@name:ali*", some: "L@alice,eve" },
      ...config,
    },
    minions: { get: (id) => known.get(id), getMine: () => undefined, ids: () => [...known.keys()] },
  });
const ask = async (expression: string, id: string, config: object = {}) =>
  ((await callRunner(context(config), "match.compound_matches", [expression, id])) as { res: unknown }).res;

describe("match.compound_matches", () => {
  it("gives the id of a minion that matches by id, grains, pillar and node group", async () => {
    for (const expression of [
      "alice",
      "L@alice,bob",
      "E@al.*",
      "G@role:alice",
      "P@role:^(alice|bob)$",
      "I@name:alice",
      "alic* and I@name:alice and not G@role:eve",
      "N@some",
      "not G@role:eve",
    ])
      assert.equal(await ask(expression, "alice"), "alice", expression);
    assert.equal(await ask("G@role:alice", "eve"), false);
    // Of bob, only the key is known.
    assert.equal(await ask("bob", "bob"), "bob");
    assert.equal(await ask("G@role:*", "bob"), false);
  });

  it("does not match pillar values by patterns, in node groups either", async () => {
    for (const expression of ["I@name:ali*", "J@name:ali.*", "N@crypto", "I@secret:d*"])
      assert.equal(await ask(expression, "alice"), false, expression);
  });

  it("gives False for unknown ids, without the cache, and for an expression that cannot be read", async () => {
    assert.equal(await ask("*", "carol"), false);
    assert.equal(await ask("*", "../minions/alice"), false);
    assert.equal(await ask("G@role:alice", "alice", { minion_data_cache: false }), false);
    assert.equal(await ask("N@nowhere", "alice"), false);
    assert.equal(await ask("alice and or", "alice"), false);
  });
});
