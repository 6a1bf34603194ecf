import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { cleanPem, generateKeyPair } from "../../../src/crypto/pem.ts";
import { recoverX931 } from "../../../src/crypto/x931.ts";
import { openIdentity, pinMasterKey, readPinnedKey } from "../../../src/minion/session/identity.ts";
import { makeSetting, type Setting } from "../setting.ts";

describe("identity", () => {
  let setting: Setting;
  beforeEach(() => {
    setting = makeSetting();
  });
  afterEach(() => setting.remove());

  it("makes a key pair at first start, in Salt's files and modes, and keeps it", async () => {
    const { pki_dir: pkiDir } = setting.config;
    const first = await openIdentity(setting.config);
    assert.equal(statSync(join(pkiDir, "minion.pem")).mode & 0o777, 0o400);
    assert.equal(statSync(join(pkiDir, "minion.pub")).mode & 0o777, 0o644);
    assert.equal(statSync(pkiDir).mode & 0o777, 0o700);
    assert.match(readFileSync(join(pkiDir, "minion.pem"), "utf8"), /^-----BEGIN RSA PRIVATE KEY-----/);
    const second = await openIdentity(setting.config);
    assert.equal(second.publicPem, first.publicPem);
    assert.deepEqual(second.token, first.token);
  });

  it("takes over the keys of a Salt minion", async () => {
    const { pki_dir: pkiDir } = setting.config;
    const pair = await generateKeyPair(1_024);
    mkdirSync(pkiDir, { mode: 0o700 });
    writeFileSync(join(pkiDir, "minion.pem"), pair.privatePem, { mode: 0o400 });
    writeFileSync(join(pkiDir, "minion.pub"), `${pair.publicPem}\r\n`);
    const identity = await openIdentity(setting.config);
    assert.equal(identity.publicPem, cleanPem(pair.publicPem));
  });

  it("proves its key with a token that only it can make", async () => {
    const identity = await openIdentity(setting.config);
    const pair = await openIdentity(setting.config);
    assert.equal(recoverX931(pair.privateKey, identity.token).toString(), "salt");
  });

  it("pins a master's key, and tells if it is missing or damaged", async () => {
    const { pki_dir: pkiDir } = setting.config;
    await openIdentity(setting.config);
    assert.equal(await readPinnedKey(pkiDir), undefined);
    const { publicPem } = await generateKeyPair(1_024);
    await pinMasterKey(pkiDir, cleanPem(publicPem));
    assert.equal((await readPinnedKey(pkiDir))?.pem, cleanPem(publicPem));
    writeFileSync(join(pkiDir, "minion_master.pub"), "garbage");
    await assert.rejects(readPinnedKey(pkiDir), { code: "CRYPTO_BAD_KEY" });
  });
});
