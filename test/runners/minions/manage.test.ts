import assert from "node:assert/strict";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { readOwnPackage } from "../../../src/config/host/program.ts";
import { compareVersions } from "../../../src/runners/minions/version-order.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { plain } from "../../plain.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

describe("runner manage", () => {
  it("lists the minions that answered and those silent, sorted", async () => {
    const master = masterAccess({
      runJob: async () => ({
        jid: "j",
        minions: ["c", "a", "b"],
        returns: new Map<string, Value>([
          ["c", true],
          ["a", true],
        ]),
        silent: { b: "No response" },
      }),
    });
    const context = runnerContext({ master });
    assert.deepEqual(await callRunner(context, "manage.status"), { up: ["a", "c"], down: ["b"] });
    assert.deepEqual(await callRunner(context, "manage.up"), ["a", "c"]);
    assert.deepEqual(await callRunner(context, "manage.down"), ["b"]);
  });

  it("says, as Salt's client does, that no minion was asked", async () => {
    const printed: unknown[] = [];
    const master = masterAccess({
      runJob: async () => ({ jid: "", minions: [], returns: new Map(), silent: {} }),
      fire: async ({ data }) => void printed.push(plain(decode(data))),
    });
    assert.deepEqual(await callRunner(runnerContext({ master }), "manage.up", ["nosuch*"]), []);
    const text = "No minions matched the target. No command was sent, no jid was assigned.\n";
    assert.deepEqual(printed, [{ text }]);
  });

  it("needs a running master, and says so", async () => {
    await assert.rejects(callRunner(runnerContext(), "manage.up"), { code: "MASTER_UNREACHABLE" });
  });
});

describe("runner manage, what changes keys", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it("makes every minion create new keys, then removes all files of the master's key directory", async () => {
    const pkiDir = mkdtempSync(join(tmpdir(), "key-regen-"));
    folders.push(pkiDir);
    mkdirSync(join(pkiDir, "minions"));
    const files = [join(pkiDir, "master.pem"), join(pkiDir, "minions", "a")];
    for (const file of files) writeFileSync(file, "key");
    const asked: unknown[] = [];
    const master = masterAccess({
      runJob: async (request) => {
        asked.push([request.target, request.targetKind, request.fun, request.timeoutMs, files.every(existsSync)]);
        return { jid: "j", minions: ["a"], returns: new Map(), silent: { a: "No response" } };
      },
    });
    const said = await callRunner(runnerContext({ master, config: { pki_dir: pkiDir } }), "manage.key_regen");
    assert.deepEqual(asked, [["*", "glob", "saltutil.regen_keys", 5_000, true]]);
    assert.match(String(said), /^The minion and master keys have been deleted\. {2}Restart the Salt\nMaster within/);
    assert.deepEqual(files.filter(existsSync), []);
    assert.ok(existsSync(join(pkiDir, "minions")), "directories stay");
  });

  it("leaves a link to a directory alone, and removes other links but not their targets", async () => {
    const [pkiDir, elsewhere] = [mkdtempSync(join(tmpdir(), "key-regen-")), mkdtempSync(join(tmpdir(), "elsewhere-"))];
    folders.push(pkiDir, elsewhere);
    const kept = [join(elsewhere, "file"), join(pkiDir, "linked")];
    writeFileSync(join(elsewhere, "file"), "not a key");
    mkdirSync(join(pkiDir, "minions"));
    symlinkSync(elsewhere, join(pkiDir, "linked"));
    const removed = [join(pkiDir, "nowhere"), join(pkiDir, "minions", "a")];
    symlinkSync(join(elsewhere, "nosuch"), join(pkiDir, "nowhere"));
    symlinkSync(join(elsewhere, "file"), join(pkiDir, "minions", "a"));
    const master = masterAccess({ runJob: async () => ({ jid: "j", minions: [], returns: new Map(), silent: {} }) });
    const notes: string[] = [];
    const context = {
      ...runnerContext({ master, config: { pki_dir: pkiDir } }),
      note: (text: string) => notes.push(text),
    };
    await callRunner(context, "manage.key_regen");
    const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    assert.deepEqual([kept.filter(isThere), removed.filter(isThere), notes], [kept, [], []]);
  });

  it("removes nothing when no job can be sent", async () => {
    const pkiDir = mkdtempSync(join(tmpdir(), "key-regen-"));
    folders.push(pkiDir);
    writeFileSync(join(pkiDir, "master.pem"), "key");
    const context = runnerContext({ config: { pki_dir: pkiDir } });
    await assert.rejects(callRunner(context, "manage.key_regen"), { code: "MASTER_UNREACHABLE" });
    assert.ok(existsSync(join(pkiDir, "master.pem")));
  });

  it("says why functions that need salt-ssh do not exist", async () => {
    for (const [name, args] of [
      ["manage.bootstrap", []],
      ["manage.safe_accept", ["a"]],
    ] as const) {
      await assert.rejects(callRunner(runnerContext(), name, args), { code: "FUNCTION_FAILED", message: /salt-ssh/ });
    }
  });
});

describe("runner saltworks", () => {
  it("gives the running master's counters, and fails without a running master", async () => {
    const master = masterAccess({ counters: async () => ({ main: { frames: 7 } }) });
    assert.deepEqual(await callRunner(runnerContext({ master }), "saltworks.counters"), { main: { frames: 7 } });
    await assert.rejects(callRunner(runnerContext(), "saltworks.counters"), { code: "MASTER_UNREACHABLE" });
  });
});

const reply = (returns: [string, Value][], retcodes: [string, number][] = []) => ({
  jid: "j",
  minions: ["c", "a", "b"],
  returns: new Map(returns),
  retcodes: new Map(retcodes),
  silent: {},
});

describe("runner manage, presence and versions", () => {
  let pkiDir: string;
  const keyOf = (state: string, id: string) => join(pkiDir, state, id);
  beforeEach(() => {
    pkiDir = mkdtempSync(join(tmpdir(), "swm-"));
    for (const state of ["minions", "minions_pre"]) mkdirSync(join(pkiDir, state));
    for (const id of ["a", "b", "c"]) writeFileSync(keyOf("minions", id), "key");
    writeFileSync(keyOf("minions_pre", "d"), "key");
  });
  afterEach(() => rmSync(pkiDir, { recursive: true, force: true }));

  it("lists accepted minions that are connected and that are not, as the master knows them", async () => {
    const master = masterAccess({ connected: async () => ["c", "a"] });
    const grains = encode({ ipv4: ["127.0.0.1", "10.0.0.7"] }, "bin");
    const minions = { get: () => ({ grains, pillar: grains }), getMine: () => undefined, ids: () => [] };
    const context = runnerContext({ master, minions, config: { pki_dir: pkiDir } });
    for (const name of ["list_state", "present", "joined", "allowed", "alived", "reaped"])
      assert.deepEqual(await callRunner(context, `manage.${name}`), ["a", "c"], name);
    for (const name of ["list_not_state", "not_present", "not_joined", "not_allowed", "not_alived", "not_reaped"])
      assert.deepEqual(await callRunner(context, `manage.${name}`), ["b"], name);
    assert.deepEqual(await callRunner(context, "manage.present", ["a,b"]), ["a"]);
    assert.deepEqual(await callRunner(context, "manage.not_present", [["a", "c"]]), []);
    assert.deepEqual(await callRunner(context, "manage.present", [null, true]), { a: "10.0.0.7", c: "10.0.0.7" });
  });

  it("removes the keys of silent minions on request, and says so on the bus", async () => {
    const fired: unknown[] = [];
    const master = masterAccess({
      runJob: async () => reply([["a", true]]),
      fire: async ({ tag, data }) => void fired.push([tag, plain(decode(data))]),
    });
    const context = runnerContext({ master, config: { pki_dir: pkiDir } });
    assert.deepEqual(await callRunner(context, "manage.down"), ["b", "c"]);
    assert.ok(existsSync(keyOf("minions", "b")));
    assert.deepEqual(await callRunner(context, "manage.down", [true]), ["b", "c"]);
    assert.deepEqual(
      ["a", "b", "c"].map((id) => existsSync(keyOf("minions", id))),
      [true, false, false],
    );
    assert.deepEqual(fired, [
      ["salt/key", { result: true, act: "delete", id: "b" }],
      ["salt/key", { result: true, act: "delete", id: "c" }],
    ]);
  });

  it("compares Salt's minions with the Salt release, and ours with our own version", async () => {
    const own = readOwnPackage().version;
    const returns: [string, Value][] = [
      ["a", "2019.2.8"],
      ["b", "9999.0"],
      ["c", own],
    ];
    const context = runnerContext({ master: masterAccess({ runJob: async () => reply(returns, [["b", 0]]) }) });
    assert.deepEqual(await callRunner(context, "manage.versions"), {
      "Minion requires update": { a: "2019.2.8" },
      "Minion newer than master": { b: "9999.0" },
      "Up to date": { c: own },
      Master: own,
    });
    const silent = runnerContext({ master: masterAccess({ runJob: async () => reply([["a", own]], [["a", 1]]) }) });
    assert.deepEqual(await callRunner(silent, "manage.versions"), {
      "Minion offline": { a: false, b: false, c: false },
      Master: own,
    });
  });
});

describe("the order of versions", () => {
  it("goes by number, with candidates before their release", () => {
    const ordered = ["2014.1.0", "2019.2.8", "3000rc1", "3000", "3006.9", "3006.28", "3007.15"];
    for (const [index, version] of ordered.entries())
      for (const later of ordered.slice(index + 1)) {
        assert.ok(compareVersions(version, later) < 0, `${version} < ${later}`);
        assert.ok(compareVersions(later, version) > 0, `${later} > ${version}`);
      }
    assert.equal(compareVersions("3007.15+12.gabc", "3007.15"), 0);
  });
});
