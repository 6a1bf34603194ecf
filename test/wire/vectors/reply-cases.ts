/** The replies in exchanges_*.json: sealed ones, those of `_auth`, private ones, and clear ones. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Crypticle } from "../../../src/crypto/crypticle.ts";
import { decryptOaep, type EncAlgorithm, type SigAlgorithm, sign, verify } from "../../../src/crypto/rsa.ts";
import { recoverX931, signX931 } from "../../../src/crypto/x931.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import {
  type AuthAccepted,
  type AuthVerdict,
  badLoad,
  decodeAuthReply,
  decodePrivateData,
  decodePrivateReply,
  decodePrivateSigned,
  decodeRawReply,
  encodeAuthAccepted,
  encodeAuthVerdict,
  encodeClearReply,
  encodePrivateData,
  encodePrivateReply,
  encodePrivateSigned,
  encodeRawReply,
  encodeSignedReply,
} from "../../../src/wire/reply.ts";
import { checkSealed, keyStringOf, type MinionKeys, type Recording } from "./recording.ts";
import { bytesFromBase64, type JsonMap, toPlainView } from "./view.ts";

type Algorithms = { enc: EncAlgorithm; sig: SigAlgorithm };

export function checkReply(recording: Recording, item: JsonMap): void {
  const request = recording.requests.get(String(item.conn));
  assert.ok(request, "a reply follows a request");
  const frame = bytesFromBase64(item.payload_b64);
  if (item.decrypt !== undefined) checkSealedReply(recording, item, frame);
  else if (item.pillar_key_string !== undefined) checkPrivateReply(recording, item, frame, request);
  else if (item.signed_inner !== undefined || item.aes_key_string !== undefined)
    checkAuthReply(recording, item, frame, request);
  else checkClearReply(item, frame);
}

function checkSealedReply(recording: Recording, item: JsonMap, frame: Buffer): void {
  const token = decodeRawReply(frame);
  assert.deepEqual(encodeRawReply(token), frame, "reply written again");
  const nonce = typeof item.nonce === "string" ? item.nonce : undefined;
  checkSealed(keyStringOf(recording, item.decrypt), token, nonce, item.plain);
}

function checkClearReply(item: JsonMap, frame: Buffer): void {
  const value = decode(frame);
  assert.deepEqual(toPlainView(value), item.plain);
  assert.deepEqual(encode(value, "raw"), frame, "reply written again");
  if (value === "bad load") assert.deepEqual(badLoad, frame);
  if (value instanceof Map && value.get("enc") === "clear")
    assert.deepEqual(encodeClearReply(value.get("load")), frame);
}

/** The algorithms of the clear load or of the envelope; SHA1 for both if none is named. */
function algorithmsOf(request: JsonMap): Algorithms {
  const plain = request.plain as JsonMap;
  const outer = toPlainView(decode(bytesFromBase64(request.payload_b64))) as JsonMap;
  return {
    enc: (plain.enc_algo ?? outer.enc_algo ?? "OAEP-SHA1") as EncAlgorithm,
    sig: (plain.sig_algo ?? outer.sig_algo ?? "PKCS1v15-SHA1") as SigAlgorithm,
  };
}

function checkAuthReply(recording: Recording, item: JsonMap, frame: Buffer, request: JsonMap): void {
  const plain = request.plain as JsonMap;
  const algorithms = algorithmsOf(request);
  const reply = decodeAuthReply(frame);
  if (reply.signed === undefined) {
    assert.deepEqual(toPlainView(decode(frame)), item.plain, "version 0: unsigned");
    assert.ok(reply.accepted);
    assert.deepEqual(encodeAuthAccepted(reply.accepted), frame, "frame written again");
  } else {
    const { bytes, sig } = reply.signed;
    assert.deepEqual(toPlainView(decode(bytes)), item.signed_inner);
    assert.equal(reply.nonce, plain.nonce);
    assert.ok(verify(recording.master.pub, bytes, sig, algorithms.sig), "signed by the master");
    assert.deepEqual(sign(recording.master.priv, bytes, algorithms.sig), Buffer.from(sig));
    assert.deepEqual(encodeSignedReply(bytes, sig), frame, "frame written again");
    const content =
      reply.accepted === undefined
        ? encodeAuthVerdict(reply.ret as AuthVerdict, String(plain.nonce))
        : encodeAuthAccepted(reply.accepted);
    assert.deepEqual(content, Buffer.from(bytes), "content written again");
  }
  if (reply.accepted !== undefined) checkAccepted(recording, item, reply.accepted, plain, algorithms);
}

function checkAccepted(
  recording: Recording,
  item: JsonMap,
  accepted: AuthAccepted,
  request: JsonMap,
  { enc, sig }: Algorithms,
): void {
  const { master } = recording;
  const id = String(request.id);
  const { priv } = minionKeys(recording, id);
  assert.equal(accepted.pubKey, master.pubText);
  const aes = decryptOaep(priv, accepted.aes, enc).toString("latin1");
  assert.equal(aes, item.aes_key_string);
  assert.ok(accepted.session);
  const session = decryptOaep(priv, accepted.session, enc).toString("latin1");
  assert.equal(session, item.session_key_string);
  recording.sessions.set(id, session);
  const digest = Buffer.from(createHash("sha256").update(aes).digest("hex"));
  assert.deepEqual(signX931(master.priv, digest), Buffer.from(accepted.sig));
  assert.deepEqual(recoverX931(master.pub, accepted.sig), digest);
  if (item.token_plain !== undefined) {
    assert.ok(accepted.token);
    assert.equal(decryptOaep(priv, accepted.token, enc).toString("latin1"), item.token_plain);
    const sent = (request.token as JsonMap).$b;
    assert.equal(decryptOaep(master.priv, bytesFromBase64(sent), enc).toString("latin1"), item.token_plain, "as sent");
  }
  if (accepted.pubSig !== undefined) {
    assert.ok(master.signPub);
    assert.ok(accepted.pubSig.endsWith("\n"), "Base64 text with its line feed");
    assert.ok(verify(master.signPub, Buffer.from(accepted.pubKey), bytesFromBase64(accepted.pubSig), sig));
  }
}

function minionKeys(recording: Recording, id: string): MinionKeys {
  const keys = recording.minions.get(id);
  assert.ok(keys, `keys of ${id}`);
  return keys;
}

function checkPrivateReply(recording: Recording, item: JsonMap, frame: Buffer, request: JsonMap): void {
  const { master } = recording;
  const { enc, sig } = algorithmsOf(request);
  const plain = request.plain as JsonMap;
  const reply = decodePrivateReply(frame);
  assert.deepEqual(encodePrivateReply(reply), frame, "reply written again");
  const keyString = decryptOaep(minionKeys(recording, String(plain.id)).priv, reply.key, enc).toString("latin1");
  assert.equal(keyString, item.pillar_key_string);
  if (item.signed_inner === undefined) {
    checkSealed(keyString, reply.pillar, undefined, item.plain);
    return;
  }
  const packed = new Crypticle(keyString).open(reply.pillar);
  const signed = decodePrivateSigned(packed);
  assert.deepEqual(encodePrivateSigned(signed.data, signed.sig), Buffer.from(packed), "content written again");
  assert.deepEqual({ $b: Buffer.from(signed.sig).toString("base64") }, item.inner_sig);
  assert.ok(verify(master.pub, signed.data, signed.sig, sig));
  assert.deepEqual(sign(master.priv, signed.data, sig), Buffer.from(signed.sig));
  const data = decodePrivateData(signed.data);
  assert.deepEqual(Buffer.from(data.key), Buffer.from(reply.key));
  assert.equal(data.nonce, plain.nonce);
  assert.deepEqual(toPlainView(decode(signed.data)), item.signed_inner);
  assert.deepEqual(toPlainView(data.pillar), (item.signed_inner as JsonMap).pillar);
  const again = encodePrivateData({ ...data, pillar: encode(data.pillar, "raw") });
  assert.deepEqual(again, Buffer.from(signed.data), "data written again");
}
