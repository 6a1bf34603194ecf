import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";
import { codeThrown } from "../wire/only-typed.ts";
import { randomFrom, seedFromClock } from "../wire/random.ts";
import { slowOpen, slowSeal } from "./slow-crypticle.ts";

const nonce = "0123456789abcdef0123456789abcdef";
const keyString = generateKeyString();

/** A token with an authentic MAC under the key, for a plaintext of any content and length. */
function forge(plainBlocks: Buffer): Buffer {
  const hmacKey = Buffer.from(keyString, "base64").subarray(24);
  return Buffer.concat([plainBlocks, createHmac("sha256", hmacKey).update(plainBlocks).digest()]);
}

describe("Crypticle", () => {
  it("drops its ciphers when it was not used between two calls, and works as before", () => {
    const crypticle = new Crypticle(keyString);
    const packed = Buffer.from("content");
    assert.equal(crypticle.rest(), false, "it has none yet");
    const before = crypticle.seal(packed, nonce);
    assert.equal(crypticle.rest(), false, "it was used");
    assert.equal(crypticle.rest(), true);
    assert.equal(crypticle.rest(), false, "they are gone");
    assert.deepEqual(crypticle.open(before, nonce), packed);
    assert.deepEqual(slowOpen(keyString, crypticle.seal(packed)), Buffer.from("pickle::content"));
  });

  it("opens what the slow one seals and seals what the slow one opens, at every length around a block", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const crypticle = new Crypticle(keyString);
    for (let length = 0; length < 70; length += 1) {
      const packed = random.bytes(length);
      const iv = random.bytes(16);
      for (const withNonce of ["", nonce]) {
        const token = crypticle.seal(packed, withNonce, iv);
        assert.deepEqual(token, slowSeal(keyString, packed, withNonce, iv), `${length}`);
        assert.deepEqual(slowOpen(keyString, token), Buffer.concat([Buffer.from(`pickle::${withNonce}`), packed]));
        assert.deepEqual(Buffer.from(crypticle.open(token, withNonce === "" ? undefined : withNonce)), packed);
      }
    }
  });

  it("never uses an iv twice", () => {
    const crypticle = new Crypticle(keyString);
    const ivs = new Set(
      Array.from({ length: 2_000 }, () => crypticle.seal(Buffer.of(0xc0)).subarray(0, 16).toString("hex")),
    );
    assert.equal(ivs.size, 2_000);
  });

  it("refuses any changed bit, any truncation and another key before it decrypts", () => {
    const crypticle = new Crypticle(keyString);
    const token = crypticle.seal(Buffer.from("81a161c3", "hex"), nonce);
    for (let at = 0; at < token.length; at += 1) {
      const changed = Buffer.from(token);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      assert.throws(() => crypticle.open(changed, nonce), { code: "CRYPTO_BAD_MAC" }, `byte ${at}`);
      assert.throws(() => crypticle.open(token.subarray(0, at), nonce), { code: "CRYPTO_BAD_MAC" }, `cut at ${at}`);
    }
    assert.throws(() => new Crypticle(generateKeyString()).open(token, nonce), { code: "CRYPTO_BAD_MAC" });
  });

  it("refuses the reply to another request, and one without a nonce", () => {
    const crypticle = new Crypticle(keyString);
    const other = "f".repeat(32);
    assert.throws(() => crypticle.open(crypticle.seal(Buffer.of(0xc0), other), nonce), { code: "CRYPTO_BAD_NONCE" });
    assert.throws(() => crypticle.open(crypticle.seal(Buffer.of(0xc0)), nonce), { code: "CRYPTO_BAD_NONCE" });
  });

  it("reads an authentic token as Salt does: wrong blocks are malformed, odd padding is dropped, no prefix is an empty map", () => {
    const crypticle = new Crypticle(keyString);
    assert.throws(() => crypticle.open(forge(Buffer.alloc(16 + 15))), { code: "WIRE_MALFORMED" });
    assert.deepEqual(Buffer.from(crypticle.open(forge(Buffer.alloc(16)))), Buffer.of(0x80), "no ciphertext at all");
    for (let lastByte = 0; lastByte < 256; lastByte += 5) {
      const codes = codeThrown(() => crypticle.open(forge(Buffer.alloc(48, lastByte))), ["CRYPTO_", "WIRE_"]);
      assert.equal(codes, undefined);
    }
  });

  it("takes keys of the three sizes and nothing else, and never tells the key", () => {
    for (const bytes of [48, 56, 64]) new Crypticle(Buffer.alloc(bytes, 7).toString("base64"));
    const secret = "c2VjcmV0";
    for (const text of [
      "",
      secret,
      Buffer.alloc(55).toString("base64"),
      Buffer.alloc(57).toString("base64"),
      `${keyString} `,
      `\u00e9${keyString.slice(1)}`,
      "=".repeat(76),
    ]) {
      assert.throws(
        () => new Crypticle(text),
        (error) => {
          assert.ok(error instanceof Error && "code" in error && error.code === "CRYPTO_BAD_KEY");
          assert.ok(text === "" || !`${error.message}${JSON.stringify(error)}`.includes(text));
          return true;
        },
      );
    }
    assert.match(generateKeyString(), /^[A-Za-z0-9+/]{75}=$/);
    assert.notEqual(generateKeyString(), generateKeyString());
  });

  it("gives tokens that own their memory", () => {
    const token = new Crypticle(keyString).seal(Buffer.of(0xc0));
    assert.equal(token.buffer.byteLength, token.length);
  });
});
