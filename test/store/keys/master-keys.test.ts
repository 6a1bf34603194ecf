/** The master's key files: made once, in Salt's form; read from every place where Salt puts them. */
import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ensureMasterKeys } from "../../../src/store/keys/keys.ts";
import { temporaryDirectories } from "../temporary.ts";

const bits = 2_048;

describe("ensureMasterKeys", () => {
  const temporary = temporaryDirectories();

  it("makes a PKCS#1 key 0400 and an SPKI key 0644, and finds them again", () => {
    const pkiDir = join(temporary(), "pki");
    const made = ensureMasterKeys(pkiDir, bits);
    assert.match(made.privatePem, /^-----BEGIN RSA PRIVATE KEY-----\n/);
    assert.match(made.publicPem, /^-----BEGIN PUBLIC KEY-----\n/);
    assert.equal(statSync(pkiDir).mode & 0o777, 0o700);
    assert.equal(statSync(join(pkiDir, "master.pem")).mode & 0o777, 0o400);
    assert.equal(statSync(join(pkiDir, "master.pub")).mode & 0o777, 0o644);
    assert.deepEqual(ensureMasterKeys(pkiDir, bits), made);
  });

  it("makes the public file again from the private one", () => {
    const pkiDir = temporary();
    const made = ensureMasterKeys(pkiDir, bits, "master_sign");
    rmSync(join(pkiDir, "master_sign.pub"));
    assert.deepEqual(ensureMasterKeys(pkiDir, bits, "master_sign"), made);
  });

  it("keeps the text of an existing public file, which old minions have pinned", () => {
    const pkiDir = temporary();
    const { publicPem } = ensureMasterKeys(pkiDir, bits);
    rmSync(join(pkiDir, "master.pub"));
    writeFileSync(join(pkiDir, "master.pub"), publicPem.trimEnd());
    assert.equal(ensureMasterKeys(pkiDir, bits).publicPem, publicPem.trimEnd());
  });

  it("follows the links that 3008 makes", () => {
    const pkiDir = temporary();
    const made = ensureMasterKeys(pkiDir, bits, "host");
    for (const suffix of ["pem", "pub"]) symlinkSync(join(pkiDir, `host.${suffix}`), join(pkiDir, `master.${suffix}`));
    assert.deepEqual(ensureMasterKeys(pkiDir, bits), made);
  });

  it("encrypts a new key with a passphrase and opens it with that only", () => {
    const pkiDir = temporary();
    const made = ensureMasterKeys(pkiDir, bits, "master", "open sesame");
    assert.match(readFileSync(join(pkiDir, "master.pem"), "utf8"), /ENCRYPTED/);
    assert.deepEqual(ensureMasterKeys(pkiDir, bits, "master", "open sesame"), made);
    assert.doesNotThrow(() => createPrivateKey(made.privatePem));
    assert.throws(() => ensureMasterKeys(pkiDir, bits, "master", "wrong"), { code: "CRYPTO_BAD_KEY" });
  });

  it("refuses a file that is not an RSA key, without showing it", () => {
    const pkiDir = temporary();
    writeFileSync(join(pkiDir, "master.pem"), "hunter2");
    assert.throws(
      () => ensureMasterKeys(pkiDir, bits),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, "CRYPTO_BAD_KEY");
        assert.doesNotMatch(`${error.message}${error.cause ?? ""}`, /hunter2/);
        return true;
      },
    );
    const { privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(join(pkiDir, "master.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    assert.throws(() => ensureMasterKeys(pkiDir, bits), { code: "CRYPTO_BAD_KEY" });
  });
});
