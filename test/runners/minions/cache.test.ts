import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { ForgottenFacts, MinionReader } from "../../../src/runners/contract/contract.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../../src/wire/values.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const packed = (value: Encodable) => encode(value, "bin");
const facts = { es1: { grains: packed({ role: "search" }), pillar: packed({ tier: "search" }) } };
const mines = {
  es1: packed({ "test.ping": true, hidden: { __data__: 7, __saltmine_acl__: 1, allow_tgt: "web*" } }),
  es2: packed({ "test.ping": true, shown: { __data__: 8, __saltmine_acl__: 1, allow_tgt: "the*" } }),
};
const minions: MinionReader = {
  get: (id) => facts[id as keyof typeof facts],
  getMine: (id) => mines[id as keyof typeof mines],
  ids: () => ["es1", "es2"],
};

describe("runner cache", () => {
  const cachedir = mkdtempSync(join(tmpdir(), "swr-"));
  after(() => rmSync(cachedir, { recursive: true, force: true }));
  const forgotten: ForgottenFacts[] = [];
  const asked: unknown[] = [];
  const master = masterAccess({
    match: async (question) => {
      asked.push(question);
      return ["es2", "es1"];
    },
    forget: async (what) => {
      forgotten.push(what);
      return what.ids.length;
    },
  });
  const context = runnerContext({ config: { cachedir, minion_data_cache: true }, minions, master });

  it("shows what is kept of the minions that match the caller's target", async () => {
    assert.deepEqual(await callRunner(context, "cache.grains", ["role:x", "grain"]), {
      es1: { role: "search" },
      es2: {},
    });
    assert.deepEqual(asked.at(-1), { target: "role:x", targetKind: "grain" });
    assert.deepEqual(await callRunner(context, "cache.pillar"), { es1: { tier: "search" }, es2: {} });
    assert.deepEqual(asked.at(-1), { target: "*", targetKind: "glob" });
    const mine = (await callRunner(context, "cache.mine")) as Record<string, Record<string, unknown>>;
    assert.deepEqual(mine.es1?.hidden, { __data__: 7, __saltmine_acl__: 1, allow_tgt: "web*" });
  });

  it("shows nothing once minion_data_cache is off, except mines that are still kept", async () => {
    const off = runnerContext({
      config: { cachedir, minion_data_cache: false, enforce_mine_cache: true },
      minions,
      master,
    });
    assert.deepEqual(await callRunner(off, "cache.grains", ["*"]), { es1: {}, es2: {} });
    assert.deepEqual(await callRunner(off, "cache.pillar"), { es1: {}, es2: {} });
    assert.deepEqual(Object.keys((await callRunner(off, "cache.mine")) as object), ["es1", "es2"]);
    assert.notDeepEqual(await callRunner(off, "cache.mine"), { es1: {}, es2: {} });
    const none = runnerContext({
      config: { cachedir, minion_data_cache: false, enforce_mine_cache: false },
      minions,
      master,
    });
    assert.deepEqual(await callRunner(none, "cache.mine"), { es1: {}, es2: {} });
  });

  it("reads the banks of minions without a master, and keeps other banks in files", async () => {
    const offline = runnerContext({ config: { cachedir }, minions });
    assert.deepEqual(await callRunner(offline, "cache.list", ["minions"]), ["es1", "es2"]);
    assert.deepEqual(await callRunner(offline, "cache.list", ["minions/es1"]), ["data", "mine"]);
    const data = { grains: { role: "search" }, pillar: { tier: "search" } };
    assert.deepEqual(await callRunner(offline, "cache.fetch", ["minions/es1", "data"]), data);
    assert.deepEqual(await callRunner(offline, "cache.fetch", ["minions/nobody", "mine"]), {});
    await callRunner(context, "cache.store", ["my/bank", "key", [1, "two"]]);
    assert.deepEqual(await callRunner(context, "cache.fetch", ["my/bank", "key"]), [1, "two"]);
    assert.deepEqual(await callRunner(context, "cache.list", ["my"]), ["bank"]);
    assert.deepEqual(await callRunner(context, "cache.list", ["my/bank"]), ["key"]);
    assert.equal(await callRunner(context, "cache.flush", ["my/bank", "other"]), false);
    assert.equal(await callRunner(context, "cache.flush", ["my/bank"]), true);
    assert.deepEqual(await callRunner(context, "cache.fetch", ["my/bank", "key"]), {});
  });

  it("does not let operators into the master's own files or other folders", async () => {
    for (const bank of ["..", "../x", "/etc", "jobs.lmdb", "minions.lmdb/a", ".", ".root_key"])
      await assert.rejects(callRunner(context, "cache.store", [bank, "key", 1]), { code: "STORE_FAILED" }, bank);
    for (const key of ["", "..", "a/b"])
      await assert.rejects(callRunner(context, "cache.fetch", ["my", key]), { code: "STORE_FAILED" }, key);
    await assert.rejects(callRunner(context, "cache.store", ["minions/es1", "data", new Map()]), {
      code: "FUNCTION_FAILED",
    });
  });

  it("lets only an unrestricted user name another cachedir", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "swr-"));
    after(() => rmSync(elsewhere, { recursive: true, force: true }));
    await callRunner(context, "cache.store", ["bank", "key", 1], { cachedir: elsewhere });
    const { caller } = context;
    assert.ok(caller);
    const restricted = { ...context, caller: { ...caller, isRestricted: true } };
    const calls: [string, Value[]][] = [
      ["cache.list", ["bank"]],
      ["cache.fetch", ["bank", "key"]],
      ["cache.store", ["bank", "key", 2]],
      ["cache.flush", ["bank"]],
    ];
    for (const [name, args] of calls)
      for (const named of [elsewhere, join(cachedir, "tokens"), join(cachedir, ".."), "."])
        await assert.rejects(
          callRunner(restricted, name, args, { cachedir: named }),
          { code: "FUNCTION_FAILED" },
          name,
        );
    assert.equal(await callRunner(context, "cache.fetch", ["bank", "key"], { cachedir: elsewhere }), 1);
    assert.deepEqual(await callRunner(restricted, "cache.list", ["minions"], { cachedir: `${cachedir}/` }), [
      "es1",
      "es2",
    ]);
    const own = ["tokens", "sessions", "batches", "pending-jobs.lmdb", "x/../tokens", "file_lists/roots"];
    for (const bank of [...own, "pillar_cache", "salt_cmd", "salt-files.lmdb", "jobs.lmdb.after"]) {
      const refused = { code: "STORE_FAILED" };
      await assert.rejects(callRunner(restricted, "cache.list", [bank]), refused, bank);
      await assert.rejects(callRunner(restricted, "cache.fetch", [bank, "x"]), refused, bank);
      await assert.rejects(callRunner(restricted, "cache.store", [bank, "x", 1]), refused, bank);
      await assert.rejects(callRunner(restricted, "cache.flush", [bank]), refused, bank);
    }
  });

  it("makes the master forget what is named, and nothing without a target", async () => {
    assert.equal(await callRunner(context, "cache.clear_all"), false);
    assert.equal(forgotten.length, 0);
    const ids = ["es1", "es2"];
    await callRunner(context, "cache.clear_grains", ["*"]);
    assert.deepEqual(forgotten.at(-1), { ids, hasGrains: true, hasPillar: false, mine: [] });
    await callRunner(context, "cache.clear_pillar", ["*"]);
    assert.deepEqual(forgotten.at(-1), { ids, hasGrains: false, hasPillar: true, mine: [] });
    await callRunner(context, "cache.clear_mine", ["*"]);
    assert.deepEqual(forgotten.at(-1), { ids, hasGrains: false, hasPillar: false, mine: "whole" });
    await callRunner(context, "cache.clear_mine_func", ["*"], { clear_mine_func_flag: "test.ping" });
    assert.deepEqual(forgotten.at(-1), { ids, hasGrains: false, hasPillar: false, mine: ["test.ping"] });
    assert.equal(await callRunner(context, "cache.clear_all", ["*"]), true);
    assert.deepEqual(forgotten.at(-1), { ids, hasGrains: true, hasPillar: true, mine: "whole" });
    assert.equal(await callRunner(context, "cache.flush", ["minions/es1", "mine"]), true);
    assert.deepEqual(forgotten.at(-1), { ids: ["es1"], hasGrains: false, hasPillar: false, mine: "whole" });
  });

  it("mine.get gives values by minion, and guarded ones only if their target matches the master's id", async () => {
    const get = (fun: string) => callRunner(context, "mine.get", ["*", fun]);
    assert.deepEqual(await get("test.ping"), { es1: true, es2: true });
    assert.deepEqual(await get("hidden"), {});
    assert.deepEqual(await get("shown"), { es2: 8 }, "the master reads as `the`, its id without `_master`");
    assert.deepEqual(await get("test.ping,shown"), { "test.ping": { es1: true, es2: true }, shown: { es2: 8 } });
  });
});
