import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { afterEach, before, beforeEach, describe, it } from "node:test";
import type { ConfigValue } from "../../../src/config/yaml/values.ts";
import { openIdentity } from "../../../src/minion/session/identity.ts";
import { MasterLink } from "../../../src/minion/session/master-link.ts";
import { requestPillar } from "../../../src/minion/session/pillar.ts";
import { FakeMaster, type MasterKeys, makeMasterKeys } from "../fake-master.ts";
import { makeSetting, type Setting } from "../setting.ts";

const versions = ["3", "2", "0"];

describe("Session", () => {
  let keys: MasterKeys;
  let otherKeys: MasterKeys;
  let master: FakeMaster;
  const closers: (() => unknown)[] = [];
  before(async () => {
    keys = await makeMasterKeys();
    otherKeys = await makeMasterKeys();
  });
  beforeEach(async () => {
    master = await FakeMaster.open(keys);
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    master.close();
  });

  type Opened = { readonly link: MasterLink; readonly setting: Setting; readonly ends: unknown[] };

  async function open(options: { readonly [name: string]: ConfigValue } = {}): Promise<Opened> {
    const setting = makeSetting({ random_reauth_delay: 0, ...options });
    const ends: unknown[] = [];
    const link = new MasterLink({
      config: setting.config,
      identity: await openIdentity(setting.config),
      log: setting.log,
      address: { host: "127.0.0.1", port: master.port },
      grains: () => new Map(),
      onEnd: (error) => ends.push(error),
    });
    closers.push(
      () => link.close(),
      () => setting.remove(),
    );
    return { link, setting, ends };
  }

  it("packs requests of each version with Salt's fields, in Salt's order", async () => {
    const orders: { readonly [version: string]: string[] } = {
      "3": ["cmd", "id", "return", "nonce", "ts", "tok"],
      "2": ["cmd", "id", "return", "nonce"],
      "0": ["cmd", "id", "return"],
    };
    for (const version of versions) {
      const { link } = await open({ request_version: version });
      master.answers.set("_return", true);
      assert.equal(await link.session.request({ cmd: "_return", id: "unit", return: 5 }), true);
      const { load, version: sent } = await master.received("_return");
      assert.equal(sent, Number(version));
      assert.deepEqual([...load.keys()], orders[version]);
      master.requests.length = 0;
    }
  });

  it("authenticates anew when a request is refused, and sends it once more", async () => {
    for (const version of versions) {
      const { link } = await open({ request_version: version });
      await link.session.request({ cmd: "_first" });
      master.rotate();
      master.answers.set("_second", "done");
      assert.equal(await link.session.request({ cmd: "_second" }), "done");
      assert.equal(link.session.signInCount, 2);
    }
  });

  it("gives up a request that is refused after authentication too, after all its tries", async () => {
    const { link } = await open();
    master.refuseOnce.push("_x", "_x", "_x", "_x");
    await assert.rejects(link.session.request({ cmd: "_x" }, { tries: 2 }), { code: "CRYPTO_BAD_MAC" });
    assert.equal(master.requests.filter(({ cmd }) => cmd === "_x").length, 4);
  });

  it("authenticates once for many requests that fail together", async () => {
    const { link } = await open();
    await link.session.request({ cmd: "_warm" });
    master.rotate();
    const requests = [1, 2, 3].map((n) => link.session.request({ cmd: "_each", n }));
    const pillar = requestPillar(link.session, { id: "unit", saltenv: null, pillarenv: null }, new Map());
    await Promise.all([...requests, pillar]);
    assert.equal(link.session.signInCount, 2);
  });

  it("ends when the key is rejected, and only then", async () => {
    const { link, ends } = await open();
    await link.session.request({ cmd: "_warm" });
    master.verdicts = ["full"];
    master.rotate();
    await assert.rejects(link.session.request({ cmd: "_x" }, { tries: 1 }), { code: "AUTH_FULL" });
    assert.equal(ends.length, 0);
    master.verdicts = [false];
    await assert.rejects(link.session.request({ cmd: "_x" }, { tries: 1 }), { code: "AUTH_REJECTED" });
    assert.equal(ends.length, 1);
  });

  it("takes an empty reply as an answer", async () => {
    const { link } = await open();
    assert.equal(await link.session.request({ cmd: "_none" }), null);
  });

  it("reads a pillar of each version and refuses one that another key has signed", async () => {
    master.answers.set("_pillar", { role: "web", count: 3, blob: Buffer.from([0xff, 0xfe]) });
    for (const version of versions) {
      const { link } = await open({ request_version: version });
      await link.session.authenticate();
      const pillar = await requestPillar(link.session, { id: "unit", saltenv: null, pillarenv: null }, new Map());
      assert.equal(pillar.get("role"), "web");
      assert.deepEqual(pillar.get("blob"), Uint8Array.of(0xff, 0xfe));
      const { load } = await master.received("_pillar");
      const fields = ["id", "grains", "saltenv", "pillarenv", "pillar_override", "extra_minion_data", "ver", "cmd"];
      assert.deepEqual([...load.keys()].slice(0, 8), fields);
      master.requests.length = 0;
    }
    const { link } = await open({ request_channel_tries: 1 });
    await link.session.authenticate();
    master.replySigner = otherKeys.privateKey;
    await assert.rejects(requestPillar(link.session, { id: "unit", saltenv: null, pillarenv: null }, new Map()), {
      code: "CRYPTO_BAD_SIGNATURE",
    });
  });

  it("gives up a pillar that is encrypted for another key, after one request and without a new authentication", async () => {
    const { link } = await open({ request_channel_tries: 3 });
    await link.session.authenticate();
    master.pillarKey = createPublicKey(otherKeys.publicPem);
    await assert.rejects(requestPillar(link.session, { id: "unit", saltenv: null, pillarenv: null }, new Map()), {
      code: "CRYPTO_DECRYPT_FAILED",
    });
    assert.equal(master.requests.filter(({ cmd }) => cmd === "_pillar").length, 1);
    assert.equal(link.session.signInCount, 1);
  });

  it("opens the same publish after it had to authenticate anew", async () => {
    for (const version of versions) {
      const { link } = await open({ request_version: version });
      await link.session.authenticate();
      master.rotate();
      const load = await link.session.openPublish(master.sealPublish({ fun: "test.ping" }));
      assert.deepEqual(load, new Map([["fun", "test.ping"]]));
      assert.equal(link.session.signInCount, 2);
    }
  });

  it("drops a repeated publish, and counts again under the master's next key", async () => {
    const { link } = await open();
    await link.session.authenticate();
    const first = master.sealPublish({ fun: "one" });
    const second = master.sealPublish({ fun: "two" });
    assert.ok(await link.session.openPublish(second));
    assert.equal(await link.session.openPublish(second), undefined);
    assert.equal(await link.session.openPublish(first), undefined);
    master.rotate();
    assert.ok(await link.session.openPublish(master.sealPublish({ fun: "three" })));
  });

  it("drops garbage, foreign publishes, and unsigned ones if signatures are required", async () => {
    const { link } = await open({ sign_pub_messages: true });
    await link.session.authenticate();
    assert.equal(await link.session.openPublish(Buffer.from("garbage")), undefined);
    assert.equal(await link.session.openPublish(master.sealPublish({ fun: "x" }, false)), undefined);
    master.keys = otherKeys;
    assert.equal(await link.session.openPublish(master.sealPublish({ fun: "x" })), undefined);
    master.keys = keys;
    assert.ok(await link.session.openPublish(master.sealPublish({ fun: "x" })));
    assert.equal(link.session.signInCount, 1);
  });

  it("fails a request after its tries when the master is silent", async () => {
    const { link } = await open();
    await link.session.authenticate();
    master.silent.add("_x");
    await assert.rejects(link.session.request({ cmd: "_x" }, { timeoutMs: 1_000, tries: 3 }), {
      code: "REQUEST_TIMEOUT",
    });
    await master.received("_x", 3);
    assert.equal(master.requests.filter(({ cmd }) => cmd === "_x").length, 3);
  });
});

describe("MasterLink", () => {
  it("sends events with Salt's fields and reports whether the master took them", async () => {
    const master = await FakeMaster.open();
    const setting = makeSetting({ start_event_grains: ["os"] });
    const link = new MasterLink({
      config: setting.config,
      identity: await openIdentity(setting.config),
      log: setting.log,
      address: { host: "127.0.0.1", port: master.port },
      grains: () =>
        new Map([
          ["os", "Test"],
          ["kernel", "Linux"],
        ]),
      onEnd: () => undefined,
    });
    try {
      await link.fireStart();
      const [, old, own] = master.requests;
      assert.deepEqual([...(old?.load.keys() ?? [])].slice(0, 7), [
        "id",
        "cmd",
        "pretag",
        "tok",
        "data",
        "tag",
        "grains",
      ]);
      assert.equal(old?.load.get("tag"), "minion_start");
      assert.equal(own?.load.get("tag"), "salt/minion/unit/start");
      assert.match(String(own?.load.get("data")), /^Minion unit started at \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/);
      assert.deepEqual(own?.load.get("grains"), new Map([["os", "Test"]]));
      assert.equal(await link.fireEvent("a/tag", { x: 1 }), true);
      await link.ask({ cmd: "_mine", data: { "test.ping": true }, clear: false });
      const mine = await master.received("_mine");
      assert.deepEqual([...mine.load.keys()].slice(0, 6), ["cmd", "data", "clear", "id", "_stamp", "tok"]);
      master.close();
      link.close();
      assert.equal(await link.fireEvent("a/tag", {}), false);
    } finally {
      await setting.remove();
    }
  });
});
