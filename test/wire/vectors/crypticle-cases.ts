/** Runs crypticle.json: every set sealed and opened, by the fast and by the slow Crypticle; bad tokens; the serial sequence. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Crypticle } from "../../../src/crypto/crypticle.ts";
import { hasCode } from "../../../src/errors.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { slowOpen, slowSeal } from "../../crypto/slow-crypticle.ts";
import type { Ledger } from "./ledger.ts";
import { bytesFromBase64, bytesFromHex, expand, fromTypedView, type JsonMap, toTypedView } from "./view.ts";

type KeySet = { key_string: string; key_bits: number | string; cases: JsonMap[] };

export function runCrypticle(data: JsonMap, ledger: Ledger): void {
  const sets = data.sets as unknown as KeySet[];
  for (const [setIndex, set] of sets.entries()) {
    const crypticle = new Crypticle(set.key_string);
    for (const [index, item] of set.cases.entries()) {
      ledger.run(`sets/${setIndex}/cases/${index}`, () => checkCase(crypticle, set.key_string, item));
    }
  }
  const wireKey = sets.find((set) => Number(set.key_bits) === 192)?.key_string ?? "";
  for (const [index, item] of (data.negative as JsonMap[]).entries()) {
    ledger.run(`negative/${index}`, () => checkNegative(new Crypticle(wireKey), item));
  }
  const sequence = data.serial_sequence as unknown as { key_string: string; messages: JsonMap[] };
  const receiver = new Crypticle(sequence.key_string);
  let lastSerial = 0;
  for (const [index, item] of sequence.messages.entries()) {
    ledger.run(`serial_sequence/messages/${index}`, () => {
      lastSerial = checkSerial(receiver, item, lastSerial);
    });
  }
}

function checkCase(crypticle: Crypticle, keyString: string, item: JsonMap): void {
  const nonce = typeof item.nonce === "string" ? item.nonce : undefined;
  const packed = encode(fromTypedView(expand(item.value ?? null)), "raw");
  const plain = Buffer.concat([Buffer.from(`pickle::${nonce ?? ""}`), packed]);
  if (item.ciphertext_b64 === undefined) {
    // A long case has only lengths and a hash.
    assert.equal(plain.length, item.plaintext_len);
    assert.equal(createHash("sha256").update(plain).digest("hex"), item.plaintext_sha256);
    const token = crypticle.seal(packed, nonce);
    assert.equal(token.length, item.ciphertext_len);
    assert.deepEqual(Buffer.from(crypticle.open(token, nonce)), packed);
    return;
  }
  assert.deepEqual(plain, bytesFromHex(item.plaintext_hex));
  const token = bytesFromBase64(item.ciphertext_b64);
  const opened = crypticle.open(token, nonce);
  assert.deepEqual(Buffer.from(opened), packed);
  assert.deepEqual(toTypedView(decode(opened), true), expand(item.decoded_by_salt ?? null));
  assert.deepEqual(crypticle.seal(packed, nonce, token.subarray(0, 16)), token, "sealed again with the same iv");
  assert.deepEqual(slowSeal(keyString, packed, nonce ?? "", token.subarray(0, 16)), token, "sealed slowly");
  assert.deepEqual(slowOpen(keyString, token), plain, "opened slowly");
}

/** Our error code for each of Salt's failures. */
const codeOf: Readonly<Record<string, string>> = {
  AuthenticationError: "CRYPTO_BAD_MAC",
  SaltClientError: "CRYPTO_BAD_NONCE",
  // Salt fails on the bytes in the nonce's place; here they just differ from the nonce.
  UnicodeDecodeError: "CRYPTO_BAD_NONCE",
  SaltDeserializationError: "WIRE_MALFORMED",
};

function checkNegative(crypticle: Crypticle, item: JsonMap): void {
  const nonce = typeof item.expected_nonce === "string" ? item.expected_nonce : undefined;
  const result = item.result as JsonMap;
  const open = () => decode(crypticle.open(bytesFromBase64(item.ciphertext_b64), nonce));
  if (result.error === undefined) {
    assert.deepEqual(toTypedView(open(), true), result.ok);
    return;
  }
  const code = codeOf[String(result.error)] ?? "";
  assert.throws(open, (error) => hasCode(error, code as "WIRE_MALFORMED"), `${item.name}: ${code}`);
}

/** The rule of docs/protocol.md section 4: a serial not above the last one makes the message an empty map. */
function checkSerial(receiver: Crypticle, item: JsonMap, lastSerial: number): number {
  const value = decode(receiver.open(bytesFromBase64(item.ciphertext_b64)));
  assert.ok(value instanceof Map);
  const serial = value.get("serial");
  assert.equal(serial, item.serial);
  assert.ok(typeof serial === "number");
  value.delete("serial");
  const isFresh = serial > lastSerial;
  assert.deepEqual(toTypedView(isFresh ? value : new Map(), true), item.result_same_receiver_in_order);
  return isFresh ? serial : lastSerial;
}
