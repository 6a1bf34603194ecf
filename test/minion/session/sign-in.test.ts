import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, before, beforeEach, describe, it } from "node:test";
import type { ConfigValue } from "../../../src/config/yaml/values.ts";
import { fingerprint, generateKeyPair, loadPrivateKey } from "../../../src/crypto/pem.ts";
import { type Identity, openIdentity } from "../../../src/minion/session/identity.ts";
import type { Credentials } from "../../../src/minion/session/master-trust.ts";
import { signIn } from "../../../src/minion/session/sign-in.ts";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { FakeMaster, type MasterKeys, makeMasterKeys } from "../fake-master.ts";
import { makeSetting, type Setting } from "../setting.ts";

describe("signIn", () => {
  let keys: MasterKeys;
  let otherKeys: MasterKeys;
  let master: FakeMaster;
  const settings: Setting[] = [];
  before(async () => {
    keys = await makeMasterKeys();
    otherKeys = await makeMasterKeys();
  });
  beforeEach(async () => {
    master = await FakeMaster.open(keys);
  });
  afterEach(async () => {
    master.close();
    for (const setting of settings.splice(0)) await setting.remove();
  });

  function prepare(options: { readonly [name: string]: ConfigValue } = {}): Setting {
    const setting = makeSetting(options);
    settings.push(setting);
    return setting;
  }

  async function ask(setting: Setting, identity?: Identity, isOneTry = false): Promise<Credentials> {
    return await signIn({
      config: setting.config,
      identity: identity ?? (await openIdentity(setting.config)),
      log: setting.log,
      openChannel: () => new RequestChannel({ endpoint: `tcp://127.0.0.1:${master.port}`, timeoutMs: 1_000, tries: 1 }),
      grains: () => new Map([["os", "Test"]]),
      signal: new AbortController().signal,
      isOneTry,
    });
  }

  const pinnedPath = (setting: Setting) => join(setting.config.pki_dir, "minion_master.pub");

  it("signs in with the keys that are on disk now, and makes new ones if they were removed", async () => {
    const setting = prepare();
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    const before = identity.publicPem;
    rmSync(setting.config.pki_dir, { recursive: true });
    await ask(setting, identity);
    assert.notEqual(identity.publicPem, before);
    assert.equal(readFileSync(join(setting.config.pki_dir, "minion.pub"), "utf8").trim(), identity.publicPem);
  });

  it("gets the master's keys and pins its public key at first contact", async () => {
    const setting = prepare();
    const credentials = await ask(setting);
    assert.equal(credentials.aes, master.aes);
    assert.equal(credentials.publishPort, master.publishPort);
    assert.equal(credentials.session?.length, 76);
    assert.equal(readFileSync(pinnedPath(setting), "utf8"), keys.publicPem);
    assert.equal(statSync(join(setting.config.pki_dir, "minion.pem")).mode & 0o777, 0o400);
  });

  it("sends the fields of each request version in Salt's order, with a challenge once the master's key is pinned", async () => {
    const orders = {
      "3": ["cmd", "id", "nonce", "enc_algo", "sig_algo", "autosign_grains", "token", "pub"],
      "2": ["cmd", "id", "nonce", "autosign_grains", "token", "pub"],
      "0": ["cmd", "id", "autosign_grains", "token", "pub"],
    };
    for (const [version, order] of Object.entries(orders)) {
      const setting = prepare({ request_version: version, autosign_grains: ["os", "role"] });
      const identity = await openIdentity(setting.config);
      await ask(setting, identity);
      await ask(setting, identity);
      const [first, second] = master.requests.splice(0);
      assert.deepEqual([...(second?.load.keys() ?? [])], order);
      assert.deepEqual(
        [...(first?.load.keys() ?? [])],
        order.filter((name) => name !== "token"),
      );
      assert.equal(second?.version, Number(version));
      assert.deepEqual(
        second?.load.get("autosign_grains"),
        new Map<string, unknown>([
          ["os", "Test"],
          ["role", null],
        ]),
      );
    }
  });

  it("asks again while the key is pending, and goes on once it is accepted", async () => {
    master.verdicts = [true, true, "accept"];
    const credentials = await ask(prepare());
    assert.equal(credentials.aes, master.aes);
    assert.equal(master.requests.length, 3);
  });

  it("does not wait for acceptance when called for one try", async () => {
    master.verdicts = [true];
    await assert.rejects(ask(prepare(), undefined, true), { code: "AUTH_FAILED" });
    assert.equal(master.requests.length, 1);
  });

  it("gives up when the key is rejected, unless rejected_retry is on", async () => {
    master.verdicts = [false];
    await assert.rejects(ask(prepare()), { code: "AUTH_REJECTED" });
    master.verdicts = [false, "accept"];
    assert.equal((await ask(prepare({ rejected_retry: true }))).aes, master.aes);
  });

  it("reports a full master and refused algorithms", async () => {
    master.verdicts = ["full"];
    await assert.rejects(ask(prepare()), { code: "AUTH_FULL" });
    master.verdicts = ["bad enc algo"];
    await assert.rejects(ask(prepare()), { code: "AUTH_FAILED" });
  });

  it("fails when the master does not answer, and asks again with auth_safemode", async () => {
    master.silent.add("_auth");
    await assert.rejects(ask(prepare()), { code: "AUTH_FAILED" });
    const count = master.requests.length;
    const answer = ask(prepare({ auth_safemode: true }));
    await master.received("_auth", count + 1);
    master.silent.delete("_auth");
    assert.equal((await answer).aes, master.aes);
  });

  it("refuses another master than the pinned one and leaves the pin alone", async () => {
    const setting = prepare();
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    master.keys = otherKeys;
    await assert.rejects(ask(setting, identity), { code: "AUTH_MASTER_MISMATCH" });
    assert.equal(readFileSync(pinnedPath(setting), "utf8"), keys.publicPem);
  });

  it("takes a pinned key that differs only in line ends as the same key", async () => {
    const setting = prepare();
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    writeFileSync(pinnedPath(setting), `${keys.publicPem.replaceAll("\n", "\r\n")}\r\n`);
    assert.equal((await ask(setting, identity)).aes, master.aes);
  });

  it("refuses a master that sends the pinned key but cannot read the challenge", async () => {
    const setting = prepare();
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    master.tamper = (accepted) => delete accepted.token;
    await assert.rejects(ask(setting, identity), { code: "AUTH_MASTER_MISMATCH" });
  });

  it("trusts any master with open_mode", async () => {
    const setting = prepare({ open_mode: true });
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    master.keys = otherKeys;
    assert.equal((await ask(setting, identity)).aes, master.aes);
    assert.equal(readFileSync(pinnedPath(setting), "utf8"), otherKeys.publicPem);
  });

  it("compares the master's key with master_finger before it pins anything", async () => {
    const right = prepare({ master_finger: fingerprint(keys.publicPem, "sha256") });
    assert.equal((await ask(right)).aes, master.aes);
    const wrong = prepare({ master_finger: fingerprint(otherKeys.publicPem, "sha256") });
    await assert.rejects(ask(wrong), { code: "AUTH_MASTER_MISMATCH", detail: { isFinger: true } });
    assert.throws(() => readFileSync(pinnedPath(wrong)), { code: "ENOENT" });
  });

  it("refuses keys and verdicts with a wrong signature or nonce, and pins nothing", async () => {
    master.replySigner = otherKeys.privateKey;
    const setting = prepare();
    await assert.rejects(ask(setting), { code: "CRYPTO_BAD_SIGNATURE" });
    assert.throws(() => readFileSync(pinnedPath(setting)), { code: "ENOENT" });
    master.replySigner = undefined;
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    master.replySigner = otherKeys.privateKey;
    master.verdicts = [false];
    await assert.rejects(ask(setting, identity), { code: "CRYPTO_BAD_SIGNATURE" });
  });

  it("refuses an AES key that the master has not signed", async () => {
    master.tamper = (accepted) => {
      accepted.sig = Buffer.from(accepted.sig).reverse();
    };
    await assert.rejects(ask(prepare()), { code: "CRYPTO_BAD_SIGNATURE" });
  });

  it("needs a session key for requests of version 3 only", async () => {
    master.tamper = (accepted) => delete accepted.session;
    await assert.rejects(ask(prepare()), { code: "AUTH_FAILED" });
    assert.equal((await ask(prepare({ request_version: "2" }))).session, undefined);
  });

  it("follows a signed change of the master's key with verify_master_pubkey_sign", async () => {
    const signing = await generateKeyPair(1_024);
    const setting = prepare({ verify_master_pubkey_sign: true });
    const identity = await openIdentity(setting.config);
    await assert.rejects(ask(setting, identity), { code: "AUTH_MASTER_MISMATCH" }, "the master does not sign");
    master.pubSigner = loadPrivateKey(signing.privatePem);
    await assert.rejects(ask(setting, identity), { code: "AUTH_MASTER_MISMATCH" }, "the signing key is missing");
    writeFileSync(join(setting.config.pki_dir, "master_sign.pub"), signing.publicPem);
    await ask(setting, identity);
    master.keys = otherKeys;
    assert.equal((await ask(setting, identity)).aes, master.aes);
    assert.equal(readFileSync(pinnedPath(setting), "utf8"), otherKeys.publicPem);
    master.pubSigner = keys.privateKey;
    master.keys = keys;
    await assert.rejects(ask(setting, identity), { code: "AUTH_MASTER_MISMATCH" }, "another signed it");
    await assert.rejects(ask(prepare()), { code: "AUTH_MASTER_MISMATCH" }, "signed, but not wanted");
  });

  it("names minimum_auth_version if the master cannot read its request", async () => {
    master.versionMin = 3;
    for (const version of [0, 2]) {
      await assert.rejects(ask(prepare({ request_version: version })), {
        code: "AUTH_FAILED",
        message: `the master does not accept an authentication of request version ${version}; its minimum_auth_version may be higher`,
      });
    }
    await ask(prepare());
  });

  it("uses the SHA-224 algorithms when they are configured", async () => {
    master.keys = await makeMasterKeys(2_048);
    master.encAlgorithm = "OAEP-SHA224";
    master.sigAlgorithm = "PKCS1v15-SHA224";
    const setting = prepare({
      encryption_algorithm: "OAEP-SHA224",
      signing_algorithm: "PKCS1v15-SHA224",
      keysize: 2_048,
    });
    const identity = await openIdentity(setting.config);
    await ask(setting, identity);
    assert.equal((await ask(setting, identity)).aes, master.aes);
    assert.equal(master.requests[0]?.load.get("enc_algo"), "OAEP-SHA224");
  });
});
