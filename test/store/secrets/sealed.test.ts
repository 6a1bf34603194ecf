/** Secrets at rest: only the same master key, salt and name open what was sealed. */
import assert from "node:assert/strict";
import { createPrivateKey, hkdfSync } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import sodium from "sodium-native";
import { openSecretBox } from "../../../src/store/secrets/sealed.ts";
import { temporaryDirectories } from "../temporary.ts";
import { newKey } from "./new-key.ts";

describe("the secret box", () => {
  const temporary = temporaryDirectories();
  const key = newKey();
  const plain = Buffer.from("a secret");

  it("opens what it sealed, also when opened anew, and never seals the same twice", () => {
    const salt = join(temporary(), "salt");
    const box = openSecretBox(key, salt);
    const sealed = box.seal("name", plain);
    assert.deepEqual(box.open("name", sealed), plain);
    assert.deepEqual(openSecretBox(`\n${key}\n`, salt).open("name", sealed), plain);
    assert.notDeepEqual(box.seal("name", plain), sealed);
    assert.equal(sealed.includes(plain), false);
    assert.equal(statSync(salt).mode & 0o777, 0o600);
    assert.deepEqual(box.open("empty", box.seal("empty", Buffer.alloc(0))), Buffer.alloc(0));
  });

  it("opens under no other name, key or salt", () => {
    const salt = join(temporary(), "salt");
    const sealed = openSecretBox(key, salt).seal("session/a", plain);
    const broken = { code: "STORE_SEAL_BROKEN" };
    assert.throws(() => openSecretBox(key, salt).open("session/b", sealed), broken);
    assert.throws(() => openSecretBox(newKey(), salt).open("session/a", sealed), broken);
    assert.throws(() => openSecretBox(key, join(temporary(), "salt")).open("session/a", sealed), broken);
  });

  it("notices each changed byte and each truncation", () => {
    const box = openSecretBox(key, join(temporary(), "salt"));
    const sealed = box.seal("name", plain);
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8((sealed[index] ?? 0) ^ 1, index);
      assert.throws(() => box.open("name", changed), { code: "STORE_SEAL_BROKEN" });
      assert.throws(() => box.open("name", sealed.subarray(0, index)), { code: "STORE_SEAL_BROKEN" });
    }
  });

  it("is XChaCha20-Poly1305 under HKDF-SHA256 of the private key, as documented", () => {
    const salt = join(temporary(), "salt");
    const sealed = openSecretBox(key, salt).seal("name", plain);
    const secret = createPrivateKey(key).export({ type: "pkcs1", format: "der" });
    const derived = Buffer.from(hkdfSync("sha256", secret, readFileSync(salt), "saltworks/secrets-at-rest/1", 32));
    const opened = Buffer.alloc(plain.length);
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
      opened,
      null,
      sealed.subarray(25),
      Buffer.from("name"),
      sealed.subarray(1, 25),
      derived,
    );
    assert.deepEqual(opened, plain);
  });
});
