import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { equalSecrets } from "../../src/crypto/compare.ts";
import { fingerprint, generateKeyPair, loadPrivateKey, loadPublicKey } from "../../src/crypto/pem.ts";
import { publicKeyBytesMax, rsaModulusBitsMax, rsaModulusBitsMin } from "../../src/limits.ts";
import { codeThrown } from "../wire/only-typed.ts";
import { randomFrom, seedFromClock } from "../wire/random.ts";
import { readVectors } from "../wire/vectors/cases.ts";
import type { JsonMap } from "../wire/vectors/view.ts";

const texts = (readVectors("rsa_keys.json").keys as { [name: string]: JsonMap }).minion ?? {};
const publicPem = String(texts.public_pem_spki);
const privatePem = String(texts.private_pem_pkcs1);

/** DER of an element: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const head = content.length < 0x80 ? [tag, content.length] : [tag, 0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

/** PEM of an RSAPublicKey of `bits` bits, whose modulus is 1000...0001, and exponent `e`. */
function madeKey(bits: number, e: Buffer = Buffer.from("010001", "hex"), lastByte = 1): string {
  const n = Buffer.alloc(Math.ceil(bits / 8));
  n[0] = 1 << ((bits - 1) % 8);
  n[n.length - 1] = lastByte;
  const positive = Buffer.concat([Buffer.of(0), n]);
  return pem("RSA PUBLIC KEY", der(0x30, Buffer.concat([der(2, positive), der(2, e)])));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

describe("loadPublicKey", () => {
  it("takes a modulus from the smallest to the largest that is allowed, and no other", () => {
    for (const bits of [rsaModulusBitsMin, 2_048, 4_096, rsaModulusBitsMax]) {
      assert.equal(loadPublicKey(madeKey(bits)).asymmetricKeyDetails?.modulusLength, bits);
    }
    for (const bits of [512, rsaModulusBitsMin - 1, rsaModulusBitsMax + 1]) {
      assert.throws(() => loadPublicKey(madeKey(bits)), { code: "CRYPTO_BAD_KEY" }, `${bits}`);
    }
  });

  it("refuses numbers that keys cannot have: an even modulus, an exponent of 1, an even or a negative one", () => {
    assert.throws(() => loadPublicKey(madeKey(2_048, undefined, 2)), { code: "CRYPTO_BAD_KEY" });
    for (const hex of ["01", "00", "010000", "81"]) {
      assert.throws(() => loadPublicKey(madeKey(2_048, Buffer.from(hex, "hex"))), { code: "CRYPTO_BAD_KEY" }, hex);
    }
  });

  it("refuses other keys and other text", () => {
    const ec = generateKeyPairSync("ec", {
      namedCurve: "P-256",
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const pss = generateKeyPairSync("rsa-pss", {
      modulusLength: 1_024,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const noEnd = publicPem.replace(/-----END.*/s, "");
    for (const text of [
      "",
      "x",
      privatePem,
      ec.publicKey,
      pss.publicKey,
      noEnd,
      publicPem + publicPem,
      publicPem.replace("MII", "MI!"),
      pem("PUBLIC KEY", Buffer.alloc(0)),
      pem("CERTIFICATE", Buffer.alloc(9)),
    ]) {
      assert.throws(() => loadPublicKey(text), { code: "CRYPTO_BAD_KEY" }, text.slice(0, 40));
    }
  });

  it("refuses text over its limit, and hostile text, without spending time on it", () => {
    const hostile = `-----BEGIN PUBLIC KEY-----\n${" ".repeat(publicKeyBytesMax - 40)}x`;
    const started = performance.now();
    assert.throws(() => loadPublicKey(hostile), { code: "CRYPTO_BAD_KEY" });
    assert.throws(() => loadPublicKey(publicPem + " ".repeat(publicKeyBytesMax)), { code: "CRYPTO_BAD_KEY" });
    assert.ok(performance.now() - started < 200);
  });

  it("answers changed keys with a key or a typed error, and each truncation with an error", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const bytes = createPublicKey(publicPem).export({ type: "spki", format: "der" });
    for (let end = 0; end < bytes.length; end += 1) {
      assert.throws(
        () => loadPublicKey(pem("PUBLIC KEY", bytes.subarray(0, end))),
        { code: "CRYPTO_BAD_KEY" },
        `${end}`,
      );
    }
    for (let round = 0; round < 3_000; round += 1) {
      const changed = Buffer.from(bytes);
      changed[random.below(random.below(2) === 0 ? 40 : changed.length)] = random.below(256);
      codeThrown(() => loadPublicKey(pem("PUBLIC KEY", changed)), ["CRYPTO_BAD_KEY"]);
    }
  });
});

describe("loadPrivateKey", () => {
  it("takes PKCS#1 and PKCS#8, with the right passphrase only", () => {
    const key = loadPrivateKey(privatePem);
    const sealed = key.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "word" }).toString();
    assert.ok(loadPrivateKey(key.export({ type: "pkcs8", format: "pem" }).toString()).equals(key));
    assert.ok(loadPrivateKey(sealed, "word").equals(key));
    assert.throws(() => loadPrivateKey(sealed, "other"), { code: "CRYPTO_BAD_KEY" });
    assert.throws(() => loadPrivateKey(sealed), { code: "CRYPTO_BAD_KEY" });
  });

  it("refuses anything else without quoting it", () => {
    const ec = generateKeyPairSync("ec", {
      namedCurve: "P-256",
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    for (const text of ["", "topsecret", publicPem, ec.privateKey, privatePem.slice(0, 400)]) {
      assert.throws(
        () => loadPrivateKey(text),
        (error) => {
          assert.ok(error instanceof Error && "code" in error && error.code === "CRYPTO_BAD_KEY");
          assert.ok(!error.message.includes("topsecret") && error.cause === undefined);
          return true;
        },
      );
    }
  });
});

describe("generateKeyPair", () => {
  it("gives a pair in the forms that Salt writes", async () => {
    const pair = await generateKeyPair(2_048);
    assert.match(pair.privatePem, /^-----BEGIN RSA PRIVATE KEY-----\n[\s\S]+\n-----END RSA PRIVATE KEY-----\n$/);
    assert.match(pair.publicPem, /^-----BEGIN PUBLIC KEY-----\n[\s\S]+\n-----END PUBLIC KEY-----\n$/);
    const details = loadPublicKey(pair.publicPem).asymmetricKeyDetails;
    assert.deepEqual(details, { modulusLength: 2_048, publicExponent: 65_537n });
    assert.ok(createPublicKey(loadPrivateKey(pair.privatePem)).equals(loadPublicKey(pair.publicPem)));
  });
});

describe("fingerprint", () => {
  it("is the same for a file with other line ends or blank lines around it", () => {
    const expected = fingerprint(publicPem);
    assert.equal(fingerprint(publicPem.replaceAll("\n", "\r\n")), expected);
    assert.equal(fingerprint(`\n${publicPem}\n\n`), expected);
    assert.equal(fingerprint(publicPem.trim()), expected);
  });
});

describe("equalSecrets", () => {
  it("compares bytes and text of any length", () => {
    assert.ok(equalSecrets("secret", Buffer.from("secret")));
    assert.ok(equalSecrets("h\u00e9", "h\u00e9"));
    assert.ok(equalSecrets("", Buffer.alloc(0)));
    assert.ok(!equalSecrets("secret", "secres"));
    assert.ok(!equalSecrets("secret", "secret "));
    assert.ok(!equalSecrets("", "x"));
    assert.ok(equalSecrets(new Uint8Array(Buffer.from("xsecret")).subarray(1), "secret"));
  });
});
