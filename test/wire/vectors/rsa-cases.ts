/** Runs rsa_keys.json, rsa_oaep.json, rsa_sign.json and rsa_x931.json with the keys that Salt wrote. */
import assert from "node:assert/strict";
import { createPublicKey, type KeyObject } from "node:crypto";
import { cleanPem, fingerprint, loadPrivateKey, loadPublicKey } from "../../../src/crypto/pem.ts";
import {
  decryptOaep,
  type EncAlgorithm,
  encryptOaep,
  type SigAlgorithm,
  sign,
  verify,
} from "../../../src/crypto/rsa.ts";
import { recoverX931, signX931 } from "../../../src/crypto/x931.ts";
import { readVectors } from "./cases.ts";
import type { Ledger } from "./ledger.ts";
import { bytesFromBase64, bytesFromHex, type JsonMap } from "./view.ts";

type KeyTexts = { private_pem_pkcs1: string; public_pem_spki: string; public_pem_clean: string };

function keyTexts(name: unknown): KeyTexts & JsonMap {
  const keys = readVectors("rsa_keys.json").keys as unknown as Record<string, KeyTexts & JsonMap>;
  const texts = keys[String(name)];
  assert.ok(texts, `key ${String(name)}`);
  return texts;
}

function keyPair(name: unknown): { priv: KeyObject; pub: KeyObject } {
  const texts = keyTexts(name);
  return { priv: loadPrivateKey(texts.private_pem_pkcs1), pub: loadPublicKey(texts.public_pem_spki) };
}

export function runKeys(data: JsonMap, ledger: Ledger): void {
  for (const name of Object.keys(data.keys as JsonMap)) ledger.run(`keys/${name}`, () => checkKey(keyTexts(name)));
  for (const [index, item] of (data.clean_key_cases as JsonMap[]).entries()) {
    ledger.run(`clean_key_cases/${index}`, () => assert.equal(cleanPem(String(item.in)), item.clean));
  }
}

function checkKey(texts: KeyTexts & JsonMap): void {
  const { private_pem_pkcs1: privatePem, public_pem_spki: publicPem, public_pem_clean: cleaned } = texts;
  const priv = loadPrivateKey(privatePem);
  const jwk = priv.export({ format: "jwk" });
  assert.deepEqual(BigInt(`0x${Buffer.from(String(jwk.n), "base64url").toString("hex")}`), BigInt(`0x${texts.n_hex}`));
  assert.deepEqual(BigInt(`0x${Buffer.from(String(jwk.d), "base64url").toString("hex")}`), BigInt(`0x${texts.d_hex}`));
  assert.equal(Number(`0x${Buffer.from(String(jwk.e), "base64url").toString("hex")}`), texts.e);
  assert.equal(cleanPem(publicPem), cleaned);
  assert.equal(fingerprint(publicPem), texts.fingerprint_sha256_of_pem_body);
  assert.equal(fingerprint(publicPem, "md5"), texts.fingerprint_md5_of_pem_body);
  for (const text of publicTexts(publicPem, cleaned)) {
    assert.ok(loadPublicKey(text).equals(createPublicKey(publicPem)), text.slice(0, 30));
  }
  assert.equal(priv.export({ format: "pem", type: "pkcs1" }), privatePem, "written as Salt writes it");
  assert.equal(createPublicKey(priv).export({ format: "pem", type: "spki" }), publicPem, "written as Salt writes it");
}

/** The forms in which the same key is found in the field (docs/protocol.md section 3.6). */
function publicTexts(publicPem: string, cleaned: string): string[] {
  const pkcs1 = createPublicKey(publicPem).export({ format: "pem", type: "pkcs1" }).toString();
  return [
    publicPem,
    cleaned,
    publicPem.replaceAll("\n", "\r\n"),
    publicPem.replaceAll("PUBLIC KEY", "RSA PUBLIC KEY"),
    pkcs1,
    pkcs1.replaceAll("RSA PUBLIC KEY", "PUBLIC KEY"),
  ];
}

export function runOaep(data: JsonMap, ledger: Ledger): void {
  for (const [index, item] of (data.cases as JsonMap[]).entries()) {
    ledger.run(`cases/${index}`, () => {
      const { priv, pub } = keyPair(item.key);
      const algorithm = item.algorithm as EncAlgorithm;
      const plain = bytesFromHex(item.plaintext_hex);
      assert.deepEqual(decryptOaep(priv, bytesFromBase64(item.ciphertext_b64), algorithm), plain);
      assert.deepEqual(decryptOaep(priv, encryptOaep(pub, plain, algorithm), algorithm), plain, "ours back");
    });
  }
}

export function runSign(data: JsonMap, ledger: Ledger): void {
  for (const [index, item] of (data.cases as JsonMap[]).entries()) {
    ledger.run(`cases/${index}`, () => {
      const { priv, pub } = keyPair(item.key);
      const algorithm = item.algorithm as SigAlgorithm;
      const message = bytesFromBase64(item.message_b64);
      const signature = bytesFromBase64(item.signature_b64);
      assert.deepEqual(sign(priv, message, algorithm), signature);
      assert.ok(verify(pub, message, signature, algorithm));
      assert.ok(!verify(pub, Buffer.concat([message, Buffer.of(0)]), signature, algorithm), "another message");
    });
  }
  ledger.run("master_sign_pubkey", () => {
    const item = data.master_sign_pubkey as JsonMap;
    const { priv, pub } = keyPair(item.signed_with);
    const message = Buffer.from(keyTexts("master").public_pem_clean);
    const signature = bytesFromBase64(item.pub_sig_b64_sha1);
    assert.deepEqual(sign(priv, message, "PKCS1v15-SHA1"), signature);
    assert.ok(verify(pub, message, signature, "PKCS1v15-SHA1"));
  });
}

export function runX931(data: JsonMap, ledger: Ledger): void {
  const sides = new Set<unknown>();
  for (const [index, item] of (data.cases as JsonMap[]).entries()) {
    sides.add(item.n_minus_s_taken);
    ledger.run(`cases/${index}`, () => {
      const { priv, pub } = keyPair(item.key);
      const message = bytesFromHex(item.message_hex);
      const signature = bytesFromHex(item.signature_hex);
      assert.deepEqual(signX931(priv, message), signature);
      assert.deepEqual(recoverX931(pub, signature), message);
    });
  }
  assert.equal(sides.size, 2, "both s and n - s occur");
}
