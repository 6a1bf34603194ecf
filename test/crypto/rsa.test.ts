import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { loadPrivateKey, loadPublicKey } from "../../src/crypto/pem.ts";
import { decryptOaep, encryptOaep, isEncAlgorithm, isSigAlgorithm, sign, verify } from "../../src/crypto/rsa.ts";
import { recoverX931, signX931 } from "../../src/crypto/x931.ts";
import { codeThrown } from "../wire/only-typed.ts";
import { randomFrom, seedFromClock } from "../wire/random.ts";
import { readVectors } from "../wire/vectors/cases.ts";
import type { JsonMap } from "../wire/vectors/view.ts";

const texts = (readVectors("rsa_keys.json").keys as { [name: string]: JsonMap }).minion ?? {};
const priv = loadPrivateKey(String(texts.private_pem_pkcs1));
const pub = loadPublicKey(String(texts.public_pem_spki));
const otherPub = createPublicKey(generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey);
const small = generateKeyPairSync("rsa", { modulusLength: 1_024 });

describe("OAEP", () => {
  it("takes messages up to what the key and the hash leave, and not one byte more", () => {
    for (const [algorithm, max] of [
      ["OAEP-SHA1", 214],
      ["OAEP-SHA224", 198],
    ] as const) {
      const message = Buffer.alloc(max, 7);
      assert.deepEqual(decryptOaep(priv, encryptOaep(pub, message, algorithm), algorithm), message);
      assert.throws(() => encryptOaep(pub, Buffer.alloc(max + 1), algorithm), { code: "CRYPTO_BAD_KEY" });
    }
  });

  it("does not open under another key, algorithm or length", () => {
    const sealed = encryptOaep(pub, Buffer.from("x"), "OAEP-SHA1");
    assert.throws(() => decryptOaep(priv, encryptOaep(otherPub, Buffer.from("x"), "OAEP-SHA1"), "OAEP-SHA1"), {
      code: "CRYPTO_DECRYPT_FAILED",
    });
    assert.throws(() => decryptOaep(priv, sealed, "OAEP-SHA224"), { code: "CRYPTO_DECRYPT_FAILED" });
    for (const length of [0, 1, 255, 257]) {
      assert.throws(
        () => decryptOaep(priv, Buffer.alloc(length, 1), "OAEP-SHA1"),
        { code: "CRYPTO_DECRYPT_FAILED" },
        `${length}`,
      );
    }
  });
});

describe("PKCS#1 signatures", () => {
  it("verify only message, key, algorithm and signature together", () => {
    const message = Buffer.from("message");
    const signature = sign(priv, message, "PKCS1v15-SHA224");
    assert.ok(verify(pub, message, signature, "PKCS1v15-SHA224"));
    assert.ok(!verify(pub, message, signature, "PKCS1v15-SHA1"));
    assert.ok(!verify(otherPub, message, signature, "PKCS1v15-SHA224"));
    assert.ok(!verify(small.publicKey, message, signature, "PKCS1v15-SHA224"));
    assert.ok(!verify(pub, message, signature.subarray(1), "PKCS1v15-SHA224"));
    assert.ok(!verify(pub, message, Buffer.alloc(0), "PKCS1v15-SHA224"));
  });
});

describe("algorithm names", () => {
  it("are the four that Salt knows", () => {
    assert.deepEqual(
      ["OAEP-SHA1", "OAEP-SHA224", "PKCS1v15-SHA1", "OAEP-SHA256", "toString", "", undefined, 5].map(isEncAlgorithm),
      [true, true, false, false, false, false, false, false],
    );
    assert.deepEqual(["PKCS1v15-SHA1", "PKCS1v15-SHA224", "OAEP-SHA1", "constructor"].map(isSigAlgorithm), [
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("X9.31", () => {
  it("carries messages up to two bytes less than the modulus", () => {
    const length = 256;
    for (const size of [0, 1, 4, 64, length - 3, length - 2]) {
      const message = Buffer.alloc(size, 0x42);
      const signature = signX931(priv, message);
      assert.equal(signature.length, length);
      assert.deepEqual(recoverX931(pub, signature), message, `${size}`);
    }
    assert.throws(() => signX931(priv, Buffer.alloc(length - 1)), { code: "CRYPTO_BAD_KEY" });
  });

  it("takes either of s and n - s, as OpenSSL does", () => {
    const signature = signX931(priv, Buffer.from("salt"));
    const n = BigInt(`0x${Buffer.from(String(pub.export({ format: "jwk" }).n), "base64url").toString("hex")}`);
    const other = (n - BigInt(`0x${signature.toString("hex")}`)).toString(16).padStart(512, "0");
    assert.equal(recoverX931(pub, Buffer.from(other, "hex")).toString(), "salt");
  });

  it("refuses another key, a changed bit, a PKCS#1 signature and a wrong length", () => {
    const signature = signX931(priv, Buffer.from("salt"));
    assert.throws(() => recoverX931(otherPub, signature), { code: "CRYPTO_BAD_SIGNATURE" });
    for (let at = 0; at < 256; at += 8) {
      const changed = Buffer.from(signature);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => recoverX931(pub, changed), { code: "CRYPTO_BAD_SIGNATURE" }, `byte ${at}`);
    }
    assert.throws(() => recoverX931(pub, sign(priv, Buffer.from("salt"), "PKCS1v15-SHA1")), {
      code: "CRYPTO_BAD_SIGNATURE",
    });
    for (const length of [0, 1, 4, 255, 257, 4_096]) {
      assert.throws(() => recoverX931(pub, Buffer.alloc(length, 1)), { code: "CRYPTO_BAD_SIGNATURE" }, `${length}`);
    }
    assert.throws(() => recoverX931(pub, Buffer.alloc(256, 0xff)), { code: "CRYPTO_BAD_SIGNATURE" }, "not below n");
  });

  it("answers random signatures with a typed error, or with as much noise as a block without padding holds", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 500; round += 1) {
      const signature = random.bytes(256);
      signature[0] = 0;
      let noise: Buffer | undefined;
      const code = codeThrown(() => {
        noise = recoverX931(pub, signature);
      }, ["CRYPTO_BAD_SIGNATURE"]);
      // One block in 32,768 has this header and trailer by chance. Callers compare what they recover with what they expect.
      if (code === undefined) assert.equal(noise?.length, signature.length - 2);
    }
  });
});
