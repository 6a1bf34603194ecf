import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { busPaths } from "../../../src/minion/bus/fire.ts";
import { JobRecords } from "../../../src/minion/functions/job-records.ts";
import { openIdentity } from "../../../src/minion/session/identity.ts";
import { EventStreamServer } from "../../../src/transport/event-stream-server.ts";
import { encodeEvent, frameEvent } from "../../../src/wire/event.ts";
import { asValue, type Value, type ValueMap } from "../../../src/wire/values.ts";
import { openWorld, type World, type WorldOptions } from "./world.ts";

let root = "";
let worldCount = 0;
before(() => {
  root = mkdtempSync(join(tmpdir(), "sw-mf-"));
});
after(() => rmSync(root, { recursive: true }));

function open(options: WorldOptions = {}, minion = ""): Promise<World> {
  worldCount += 1;
  const own = join(root, String(worldCount));
  return openWorld(own, { ...options, minion: `id: unit\nroot_dir: ${own}\n${minion}` });
}

const call = async (world: World, ...words: readonly string[]): Promise<Value> =>
  asValue((await world.call(words)).value);
const map = (...pairs: readonly (readonly [Value, Value])[]): ValueMap => new Map(pairs);

describe("mine", () => {
  const mineFunctions = `mine_functions:
  test.ping: []
  greeting: [{mine_function: test.echo}, hello]
  keyed: {mine_function: test.echo, text: named}
  guarded: [{mine_function: test.echo}, x, {allow_tgt: 'web*'}, {allow_tgt_type: glob}]
  failing: [{mine_function: test.exception}]
  missing.fun: []
`;

  it("update sends every result that it gets, with its readers", async () => {
    const world = await open({ master: () => true }, mineFunctions);
    assert.equal(await call(world, "mine.update"), true);
    const data = map(
      ["test.ping", true],
      ["greeting", "hello"],
      ["keyed", "named"],
      ["guarded", map(["__data__", "x"], ["__saltmine_acl__", 1], ["allow_tgt", "web*"], ["allow_tgt_type", "glob"])],
    );
    assert.deepEqual(world.asked, [map(["cmd", "_mine"], ["data", data], ["clear", false])]);
    assert.ok(world.logged.some((line) => line.includes("missing.fun in mine_functions not available")));
    assert.ok(world.logged.some((line) => line.includes("test.exception in mine.update failed")));
  });

  it("update takes functions from arguments and pillar, and replaces with clear", async () => {
    const pillar = map(["mine_functions", map(["test.true", []])]);
    const world = await open({ pillar, master: () => true });
    await call(world, "mine.update", "clear=True");
    await call(world, "mine.update", "mine_functions=[test.false]");
    assert.deepEqual(
      world.asked.map((load) => [load.get("data"), load.get("clear")]),
      [
        [map(["test.true", true]), true],
        [map(["test.false", false]), false],
      ],
    );
  });

  it("update without any configuration sends nothing and returns None", async () => {
    const world = await open({ master: () => true });
    assert.equal(await call(world, "mine.update"), null);
    assert.deepEqual(world.asked, []);
  });

  it("send sends one result under its name, and is False if the function fails", async () => {
    const world = await open({ master: () => true });
    assert.equal(await call(world, "mine.send", "name", "mine_function=test.echo", "hi", "allow_tgt=db*"), true);
    assert.deepEqual(
      world.asked[0]?.get("data"),
      map(["name", map(["__data__", "hi"], ["__saltmine_acl__", 1], ["allow_tgt", "db*"])]),
    );
    assert.equal(await call(world, "mine.send", "nosuch.fun"), false);
    assert.equal(world.asked.length, 1);
  });

  it("get asks the master, and leaves this minion out on request", async () => {
    const world = await open({ master: () => map(["unit", 1], ["other", 2]) });
    assert.deepEqual(await call(world, "mine.get", "*", "test.ping,x", "exclude_minion=True"), map(["other", 2]));
    assert.deepEqual(world.asked, [
      map(["cmd", "_mine_get"], ["tgt", "*"], ["fun", "test.ping,x"], ["tgt_type", "glob"]),
    ]);
  });

  it("delete and flush tell the master", async () => {
    const world = await open({ master: () => true });
    assert.equal(await call(world, "mine.delete", "x"), true);
    assert.equal(await call(world, "mine.flush"), true);
    assert.deepEqual(world.asked, [map(["cmd", "_mine_delete"], ["fun", "x"]), map(["cmd", "_mine_flush"])]);
  });
});

describe("event", () => {
  /** The fields of the job that sent the event. */
  const sender: readonly [Value, Value][] = [
    ["__pub_fun", "event.send"],
    ["__pub_jid", "20261120155014383034"],
    ["__pub_tgt", "unit"],
  ];

  it("send adds named arguments and requested facts to the given data", async () => {
    const world = await open({
      grains: map(["os", "Debian"], ["id", "unit"]),
      environment: { A: "1" },
      master: () => null,
    });
    await call(world, "event.send", "my/tag", "{b: 2, foo: data}", "foo=Foo", "with_grains=[os]", "with_env=[A]");
    const data = map(["environ", map(["A", "1"])], ["grains", map(["os", "Debian"])], ["foo", "data"], ["b", 2]);
    assert.deepEqual(world.fired, [{ to: "master", tag: "my/tag", data: map(...data, ...sender) }]);
  });

  it("send stays on the minion's bus without a master, and fire_master is False", async () => {
    const world = await open({}, "file_client: local\n");
    assert.equal(await call(world, "event.send", "my/tag", "{a: 1}"), true);
    assert.equal(await call(world, "event.fire_master", "{a: 1}", "my/tag"), false);
    assert.deepEqual(world.fired, [{ to: "minion", tag: "my/tag", data: map(["a", 1], ...sender) }]);
  });
});

describe("saltutil and running jobs", () => {
  const jid = "20261120155014383034";
  let sleeper: ChildProcess;
  let world: World;
  before(async () => {
    world = await open();
    // This word in its command line makes it one of the minion's processes.
    sleeper = spawn("sh", ["-c", "sleep 60; :", "saltworks job"], { stdio: "ignore" });
    await once(sleeper, "spawn");
    const load = map(["fun", "test.sleep"], ["jid", jid], ["arg", [60]]);
    await (await JobRecords.open(world.config.cachedir)).write(jid, load, sleeper.pid ?? 0);
  });

  it("finds them by jid and by function", async () => {
    const job = map(["pid", sleeper.pid ?? 0], ["fun", "test.sleep"], ["jid", jid], ["arg", [60]]);
    assert.deepEqual(await call(world, "saltutil.running"), [job]);
    assert.deepEqual(await call(world, "saltutil.find_job", jid), job);
    assert.deepEqual(await call(world, "saltutil.is_running", "test.*"), [job]);
    assert.deepEqual(await call(world, "saltutil.is_running", "state.*"), []);
  });

  it("kills them", async () => {
    const ended = once(sleeper, "exit");
    const text = `Signal 9 sent to job ${jid} at pid ${sleeper.pid}`;
    assert.deepEqual(await call(world, "saltutil.kill_all_jobs"), [text]);
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    assert.deepEqual(await call(world, "saltutil.find_job", jid), map());
    assert.equal(await call(world, "saltutil.kill_job", jid), "");
  });
});

describe("saltutil.regen_keys", () => {
  it("leaves only a new pair of keys, and the directories", async () => {
    const world = await open({}, "keysize: 2048\n");
    const { pki_dir: pkiDir } = world.config;
    await openIdentity(world.config);
    const before = readFileSync(join(pkiDir, "minion.pem"), "utf8");
    writeFileSync(join(pkiDir, "minion_master.pub"), "key");
    mkdirSync(join(pkiDir, "kept"));
    assert.equal(await call(world, "saltutil.regen_keys"), null);
    assert.deepEqual(readdirSync(pkiDir).sort(), ["kept", "minion.pem", "minion.pub"]);
    assert.notEqual(readFileSync(join(pkiDir, "minion.pem"), "utf8"), before);
  });
});

describe("saltutil refreshes", () => {
  it("tell the minion what to renew", async () => {
    const world = await open();
    for (const words of [
      ["refresh_pillar"],
      ["refresh_pillar", "clean_cache=False"],
      ["refresh_grains"],
      ["refresh_grains", "refresh_pillar=False"],
      ["refresh_modules"],
      ["pillar_refresh"],
    ]) {
      assert.equal(await call(world, `saltutil.${words[0]}`, ...words.slice(1)), true);
    }
    assert.deepEqual(
      world.fired.map(({ tag, data }) => [tag, (data as ValueMap).get("clean_cache")]),
      [
        ["pillar_refresh", true],
        ["pillar_refresh", false],
        ["pillar_refresh", false],
        ["grains_refresh", undefined],
        ["module_refresh", undefined],
        ["pillar_refresh", true],
      ],
    );
  });

  it("wait for the pillar on request, and log if it did not arrive", async () => {
    const world = await open();
    const paths = busPaths(world.config);
    mkdirSync(world.config.sock_dir, { recursive: true });
    const bus = await EventStreamServer.listen({
      pubPath: paths.pub,
      pullPath: paths.pull,
      pubMode: 0o600,
      pullMode: 0o600,
      subscriberBytesMax: 65_536,
      onEvent: () => undefined,
    });
    assert.equal(await call(world, "saltutil.refresh_pillar", "wait=True", "timeout=0.05"), true);
    assert.deepEqual(world.logged, ["Pillar refresh did not complete within timeout 0.05"]);
    const waiting = call(world, "saltutil.refresh_pillar", "wait=True", "timeout=20");
    while (world.fired.length < 2) await new Promise(setImmediate);
    bus.publish(frameEvent(encodeEvent("/salt/minion/minion_pillar_refresh_complete", { complete: true })));
    assert.equal(await waiting, true);
    assert.equal(world.logged.length, 1);
    await bus.close();
  });
});

describe("saltutil.sync_*", () => {
  it("answers as Salt does when the master serves nothing to fetch", async () => {
    const world = await open({ master: () => ["top.sls", "files/_modules/x.py"] });
    const all = (await call(world, "saltutil.sync_all")) as ValueMap;
    assert.deepEqual([...all.values()], new Array(17).fill([]));
    assert.deepEqual(await call(world, "saltutil.sync_grains", "saltenv=dev,qa"), []);
    assert.deepEqual(
      world.asked.map((load) => [load.get("cmd"), load.get("saltenv")]),
      [
        ["_file_list", "base"],
        ["_file_list", "dev"],
        ["_file_list", "qa"],
      ],
    );
    assert.deepEqual(
      world.fired.map(({ tag }) => tag),
      ["pillar_refresh", "pillar_refresh"],
    );
  });

  it("fails with the names of the files if there are any, but not for another kind", async () => {
    const world = await open({ master: () => ["_modules/mine.py", "_proxy/p.py"] });
    const message = (files: string) => ({
      message: `Modules in Python cannot run on this minion and were not fetched: ${files}`,
    });
    await assert.rejects(call(world, "saltutil.sync_all"), message("_modules/mine.py, _proxy/p.py"));
    await assert.rejects(call(world, "saltutil.sync_modules"), message("_modules/mine.py"));
    await assert.rejects(call(world, "saltutil.sync_proxymodules"), message("_proxy/p.py"));
    assert.deepEqual(await call(world, "saltutil.sync_states"), []);
  });
});

describe("saltutil.clear_cache", () => {
  it("removes files below the cache directory, but not the targets of links", async () => {
    const world = await open();
    const outside = join(root, "outside");
    writeFileSync(outside, "stays");
    mkdirSync(join(world.config.cachedir, "a/b"), { recursive: true });
    writeFileSync(join(world.config.cachedir, "a/b/file"), "goes");
    symlinkSync(root, join(world.config.cachedir, "a/link"));
    assert.equal(await call(world, "saltutil.clear_cache"), true);
    assert.equal(existsSync(join(world.config.cachedir, "a/b/file")), false);
    assert.equal(existsSync(join(world.config.cachedir, "a/b")), true);
    assert.equal(existsSync(outside), true);
  });
});

describe("saltutil.revoke_auth", () => {
  it("asks the master to delete this minion's key", async () => {
    const world = await open({ master: () => true });
    assert.equal(await call(world, "saltutil.revoke_auth", "preserve_minion_cache=True"), true);
    assert.deepEqual(world.asked, [map(["cmd", "revoke_auth"], ["preserve_minion_cache", true])]);
  });
});

describe("pillar", () => {
  const memory = map(["a", 1], ["b", map(["c", 2])]);
  const fresh = map(["a", 7], ["new", "x"]);

  it("items, ls and obfuscate render the pillar; get, item and raw take the minion's memory", async () => {
    const world = await open({ pillar: memory, freshPillar: fresh });
    assert.deepEqual(await call(world, "pillar.items"), fresh);
    assert.deepEqual(await call(world, "pillar.ls"), ["a", "new"]);
    assert.deepEqual(await call(world, "pillar.obfuscate"), map(["a", "<int>"], ["new", "<str>"]));
    assert.equal(await call(world, "pillar.get", "b:c"), 2);
    assert.deepEqual(await call(world, "pillar.item", "a"), map(["a", 1]));
    assert.deepEqual(await call(world, "pillar.raw"), memory);
  });

  it("of another environment is rendered by the master", async () => {
    const world = await open({ pillar: memory, freshPillar: fresh });
    assert.equal(await call(world, "pillar.get", "a", "saltenv=dev"), 7);
    assert.deepEqual(await call(world, "pillar.item", "a", "pillarenv=dev"), map(["a", 7]));
  });

  it("raises for a missing key with pillar_raise_on_missing", async () => {
    const world = await open({ pillar: memory }, "pillar_raise_on_missing: true\n");
    await assert.rejects(call(world, "pillar.get", "nosuch"), { message: "'Pillar key not found: nosuch'" });
    assert.equal(await call(world, "pillar.get", "nosuch", "dflt"), "dflt");
  });
});

describe("sys", () => {
  it("doc shows texts without the markup of a documentation tool", async () => {
    const docs = (await call(await open(), "sys.doc", "test.ping", "event.")) as ValueMap;
    assert.deepEqual([...docs.keys()], ["event.fire_master", "event.fire", "event.send", "test.ping"]);
    assert.equal(
      docs.get("test.ping"),
      "\n    Answers True: the minion is up and takes jobs. No network ping.\n\n    CLI Example:\n\n        salt '*' test.ping\n    ",
    );
  });

  it("lists functions and modules by name and glob", async () => {
    const world = await open();
    assert.deepEqual(await call(world, "sys.list_functions", "event", "test.f*"), [
      "event.fire",
      "event.fire_master",
      "event.send",
      "test.false",
      "test.fib",
    ]);
    assert.deepEqual(await call(world, "sys.list_modules", "s*"), [
      "saltutil",
      "schedule",
      "service",
      "state",
      "status",
      "sys",
    ]);
  });
});
