import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { afterEach, before, describe, it } from "node:test";
import { freePort } from "../../bench/free-ports.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";
import { busPaths } from "../../src/minion/bus/fire.ts";
import { JobRecords } from "../../src/minion/functions/job-records.ts";
import { Minion } from "../../src/minion/minion.ts";
import { EventSubscriber, fireEvents } from "../../src/transport/event-stream-client.ts";
import { decodeEvent, encodeEvent } from "../../src/wire/event.ts";
import type { Encodable, Value, ValueMap } from "../../src/wire/values.ts";
import { FakeMaster, type MasterKeys, makeMasterKeys } from "./fake-master.ts";
import { makeSetting, type Setting } from "./setting.ts";

type Running = { readonly master: FakeMaster; readonly minion: Minion; readonly setting: Setting; grains: ValueMap };

let jidCount = 0;
function job(fun: Encodable, arg: Encodable[] = [], more: { readonly [name: string]: Encodable } = {}) {
  jidCount += 1;
  const jid = `2026020200000000${String(jidCount).padStart(4, "0")}`;
  return { fun, arg, tgt: "*", jid, ret: "", tgt_type: "glob", user: "root", ...more };
}

describe("Minion", { timeout: 120_000 }, () => {
  let keys: MasterKeys;
  const closers: (() => unknown)[] = [];
  before(async () => {
    keys = await makeMasterKeys();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function start(
    options: { readonly [name: string]: ConfigValue } = {},
    prepare: (master: FakeMaster) => void = () => undefined,
  ): Promise<Running> {
    const master = await FakeMaster.open(keys);
    prepare(master);
    const setting = makeSetting({ master_port: master.port, random_reauth_delay: 0, ...options });
    const running: { grains: ValueMap } = { grains: new Map([["os", "Test"]]) };
    const minion = await Minion.start({
      config: setting.config,
      log: setting.log,
      environment: { ...process.env },
      collectGrains: async () => running.grains,
    });
    closers.push(
      () => setting.remove(),
      () => master.close(),
      () => minion.stop(),
    );
    return Object.assign(running, { master, minion, setting });
  }

  async function connected({ master, minion }: Running): Promise<void> {
    await minion.ready;
    await master.subscribed();
  }

  const returnsOf = (master: FakeMaster, jid: string) =>
    master.requests.filter(({ cmd, load }) => cmd === "_return" && load.get("jid") === jid);

  async function resultOf(master: FakeMaster, load: ReturnType<typeof job>): Promise<ValueMap> {
    await master.publish(load);
    for (let count = 1; ; count += 1) {
      await master.received("_return", count);
      const [found] = returnsOf(master, load.jid);
      if (found !== undefined) return found.load;
    }
  }

  it("comes up in Salt's order: authentication, pillar, start events", async () => {
    const { master, minion } = await start();
    await minion.ready;
    await master.received("_minion_event", 2);
    assert.deepEqual(
      master.requests.slice(0, 4).map(({ cmd, load }) => load.get("tag") ?? cmd),
      ["_auth", "_pillar", "minion_start", "salt/minion/unit/start"],
    );
    assert.deepEqual(master.requests[1]?.load.get("grains"), new Map([["os", "Test"]]));
  });

  it("runs a published job and returns it with Salt's members in Salt's order, in each request version", async () => {
    for (const version of ["3", "2", "0"]) {
      const running = await start({ request_version: version });
      await connected(running);
      const result = await resultOf(running.master, job("test.echo", ["ünïcode"]));
      const order = ["cmd", "id", "success", "return", "retcode", "jid", "fun", "fun_args", "user", "_stamp"];
      assert.deepEqual([...result.keys()].slice(0, order.length), order);
      assert.equal(result.get("return"), "ünïcode");
      assert.match(String(result.get("_stamp")), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
    }
  });

  it("runs only jobs that target it, and none twice", async () => {
    const running = await start({}, (master) => master.answers.set("_pillar", { role: "web" }));
    await connected(running);
    const { master } = running;
    const own = job("test.ping", [], { tgt: "unit,other", tgt_type: "list" });
    const strange = [
      job("test.ping", [], { tgt: "other" }),
      job("test.ping", [], { tgt: "os:Else", tgt_type: "grain" }),
      job("test.ping", [], { tgt: "x", tgt_type: "nonsense" }),
      job("test.ping", [], { tgt: "*", jid: "../../etc" }),
    ];
    for (const load of strange) await master.publish(load);
    const { arg: _arg, ...incomplete } = job("test.ping");
    await master.publish(incomplete);
    for (const load of [own, own]) await master.publish(load);
    const byFacts = [
      job("test.ping", [], { tgt: "os|Test", tgt_type: "grain", delimiter: "|" }),
      job("test.ping", [], { tgt: "I@role:web and not L@other", tgt_type: "compound" }),
    ];
    for (const load of byFacts) await resultOf(master, load);
    assert.equal(returnsOf(master, own.jid).length, 1);
    for (const load of strange) assert.equal(returnsOf(master, load.jid).length, 0);
  });

  it("takes only its own topics if publishes have topics", async () => {
    const running = await start({ zmq_filtering: true });
    await running.minion.ready;
    const { master } = running;
    await master.subscribed(2);
    const foreign = job("test.ping");
    const own = job("test.ping");
    const hash = createHash("sha1").update("unit").digest("hex");
    await master.sendFrames("broadcast-not", master.sealPublish(foreign));
    await master.sendFrames("broadcast", master.sealPublish(job("test.ping", [], { tgt: "other" })));
    await master.sendFrames(hash, master.sealPublish(own));
    assert.equal((await master.received("_return")).load.get("jid"), own.jid);
    assert.equal(returnsOf(master, foreign.jid).length, 0);
  });

  it("survives a key rotation, and runs the publish that revealed it", async () => {
    const running = await start();
    await connected(running);
    running.master.rotate();
    assert.equal((await resultOf(running.master, job("test.echo", ["after"]))).get("return"), "after");
  });

  it("sends a return again until the master answers", async () => {
    const running = await start({ return_retry_tries: 3 });
    await connected(running);
    const { master } = running;
    master.silent.add("_return");
    const load = job("test.echo", ["late"]);
    await resultOf(master, load);
    master.silent.delete("_return");
    const second = await master.received("_return", 2);
    assert.equal(second.load.get("jid"), load.jid);
    assert.equal((await resultOf(master, job("test.echo", ["next"]))).get("return"), "next");
  });

  it("ends with 77 when the master rejects its key, and with 42 if the master has another fingerprint", async () => {
    const rejected = await start({}, (master) => {
      master.verdicts = [true, false];
    });
    assert.equal(await rejected.minion.ended, 77);
    const { minion } = await start({ master_finger: "aa:bb" });
    assert.equal(await minion.ended, 42);
  });

  it("keeps asking while the master is full or silent, and tries the next master of the list", async () => {
    const full = await start({}, (master) => {
      master.verdicts = ["full", "full", "accept"];
    });
    await full.minion.ready;
    const other = await FakeMaster.open(keys);
    closers.push(() => other.close());
    const dead = await start({ master: [`127.0.0.1:${await freePort()}`, `127.0.0.1:${other.port}`] });
    await dead.minion.ready;
    assert.ok(other.requests.length > 0);
  });

  it("asks again for the pillar when the master does not give it", async () => {
    let count = 0;
    const running = await start({ request_channel_tries: 1 }, (master) => {
      master.answers.set("_pillar", () => {
        count += 1;
        return count < 2 ? "no map" : { ok: true };
      });
    });
    await running.minion.ready;
    assert.ok(running.master.requests.filter(({ cmd }) => cmd === "_auth").length >= 2);
  });

  it("has an event bus on which refreshes take effect and events are passed on to the master", async () => {
    const running = await start({}, (master) => master.answers.set("_pillar", { v: 1 }));
    await connected(running);
    const { master, setting } = running;
    const paths = busPaths(setting.config);
    assert.match(paths.pub, /minion_event_[0-9a-f]{10}_pub\.ipc$/);
    const completed = new Promise<void>((resolve) => {
      EventSubscriber.connect(paths.pub, {
        onEvent: (body) => {
          if (decodeEvent(body).tag === "/salt/minion/minion_pillar_refresh_complete") resolve();
        },
        onClose: () => undefined,
      }).then(
        (subscriber) => {
          closers.push(() => subscriber.close());
          master.answers.set("_pillar", { v: 2 });
          running.grains = new Map([["os", "Changed"]]);
          return fireEvents(paths.pull, [encodeEvent("grains_refresh", {})]);
        },
        (error) => assert.ifError(error),
      );
    });
    await completed;
    const byGrain = job("grains.get", ["os"], { tgt: "os:Changed", tgt_type: "grain" });
    assert.equal((await resultOf(master, byGrain)).get("return"), "Changed");
    const byPillar = job("test.ping", [], { tgt: "v:2", tgt_type: "pillar" });
    assert.equal((await resultOf(master, byPillar)).get("return"), true);
    const events = [
      encodeEvent("fire_master", { data: { x: 1 }, tag: "my/tag", events: null, pretag: null }),
      encodeEvent("fire_master", { data: null, tag: null, events: [{ tag: "in/list", data: {} }], pretag: "pre" }),
    ];
    const count = master.requests.filter(({ cmd }) => cmd === "_minion_event").length;
    await fireEvents(paths.pull, events);
    const first = await master.received("_minion_event", count + 1);
    assert.deepEqual([first.load.get("tag"), first.load.get("data")], ["my/tag", new Map([["x", 1]])]);
    const second = await master.received("_minion_event", count + 2);
    assert.deepEqual([second.load.get("pretag"), second.load.has("events")], ["pre", true]);
  });

  it("tells the master's event bus of a function that raises", async () => {
    const running = await start();
    await connected(running);
    const { master } = running;
    const result = await resultOf(master, job("test.exception"));
    assert.match(String(result.get("return")), /^The minion function caused an exception: Traceback/);
    const event = master.requests.find(({ load }) => load.get("tag") === "_salt_error");
    const data = event?.load.get("data") as ValueMap | undefined;
    assert.equal(data?.get("message"), "The minion function caused an exception");
  });

  it("lists, finds and kills its running jobs through saltutil", async () => {
    const running = await start();
    await connected(running);
    const { master } = running;
    const sleeper = job("test.sleep", [60]);
    await master.publish(sleeper);
    let found: Value = null;
    while (!(found instanceof Map) || found.size === 0) {
      found = (await resultOf(master, job("saltutil.find_job", [sleeper.jid]))).get("return") ?? null;
    }
    assert.deepEqual([...found.keys()], ["pid", "fun", "arg", "tgt", "jid", "ret", "tgt_type", "user"]);
    const killed = await resultOf(master, job("saltutil.kill_job", [sleeper.jid]));
    assert.equal(killed.get("return"), `Signal 9 sent to job ${sleeper.jid} at pid ${found.get("pid")}`);
    assert.deepEqual((await resultOf(master, job("saltutil.running"))).get("return"), []);
    assert.equal(returnsOf(master, sleeper.jid).length, 0);
  });

  it("sends its mine after the start, if one is configured", async () => {
    const { master } = await start({ mine_functions: { "test.ping": [] } });
    const mine = await master.received("_mine");
    assert.deepEqual(mine.load.get("data"), new Map([["test.ping", true]]));
    assert.equal(mine.load.get("id"), "unit");
  });

  it("stops cleanly: sockets and processes are gone, running jobs included", async () => {
    const running = await start();
    await connected(running);
    const { master, minion, setting } = running;
    await master.publish(job("test.sleep", [60]));
    const records = await JobRecords.open(setting.config.cachedir);
    let jobs = await records.running();
    while (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      jobs = await records.running();
    }
    await minion.stop();
    assert.equal(await minion.ended, 0);
    assert.throws(() => process.kill(Number(jobs[0]?.get("pid")), 0), { code: "ESRCH" });
    assert.equal(existsSync(busPaths(setting.config).pub), false);
  });

  it("refuses to start beside another minion of its id and directories", async () => {
    const { setting } = await start();
    const options = { config: setting.config, log: setting.log, environment: {}, collectGrains: async () => new Map() };
    await assert.rejects(Minion.start(options), { code: "MASTER_RUNNING" });
  });

  it("logs no secrets", async () => {
    const running = await start();
    await connected(running);
    running.master.rotate();
    await resultOf(running.master, job("test.ping"));
    const logged = JSON.stringify(running.setting.lines);
    for (const secret of [running.master.aes, "PRIVATE KEY"]) assert.ok(!logged.includes(secret));
  });
});
