/** Runs exchanges_*.json: each frame between real masters and minions, opened with the recorded keys and made again. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Crypticle } from "../../../src/crypto/crypticle.ts";
import { type SigAlgorithm, sign, verify } from "../../../src/crypto/rsa.ts";
import { recoverX931 } from "../../../src/crypto/x931.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { decodePublish, encodePublish, type Publish } from "../../../src/wire/publish.ts";
import { encodeClearRequest, encodeSealedRequest, readClearHead, readEnvelope } from "../../../src/wire/request.ts";
import { mapEntries } from "../../../src/wire/walk.ts";
import type { Ledger } from "./ledger.ts";
import { checkSealed, keyStringOf, openRecording, type Recording } from "./recording.ts";
import { checkReply } from "./reply-cases.ts";
import { bytesFromBase64, type JsonMap, toPlainView } from "./view.ts";

export function runExchanges(data: JsonMap, ledger: Ledger): void {
  const recording = openRecording(data.meta as JsonMap);
  for (const [index, item] of (data.exchanges as JsonMap[]).entries()) {
    ledger.run(`exchanges/${index}`, () => {
      if (item.kind === "req") checkRequest(recording, item);
      else if (item.kind === "rep") checkReply(recording, item);
      else if (item.kind === "pub") checkPublish(recording, item);
      else checkSubscription(recording, item);
    });
  }
}

function checkRequest(recording: Recording, item: JsonMap): void {
  const frame = bytesFromBase64(item.payload_b64);
  recording.requests.set(String(item.conn), item);
  if (item.enc === undefined) {
    assert.throws(() => readEnvelope(frame), { code: "WIRE_MALFORMED" });
    return;
  }
  const envelope = readEnvelope(frame);
  assert.equal(envelope.version, item.version);
  assert.equal(envelope.enc, item.enc);
  if (envelope.enc === "clear") {
    const load = decode(envelope.load);
    assert.deepEqual(toPlainView(load), item.plain);
    assert.deepEqual(encodeClearRequest(load, envelope.version), frame, "request written again");
    checkHead(envelope.load, item.plain);
    return;
  }
  assert.deepEqual(
    encodeSealedRequest(envelope.load, {
      version: envelope.version,
      ...(envelope.id === undefined ? {} : { id: envelope.id }),
      ...(envelope.encAlgorithm === undefined ? {} : { encAlgorithm: envelope.encAlgorithm }),
      ...(envelope.sigAlgorithm === undefined ? {} : { sigAlgorithm: envelope.sigAlgorithm }),
    }),
    frame,
    "request written again",
  );
  if (item.note === "does not decrypt") {
    const keys = [...recording.aes, ...recording.sessions.values()];
    for (const key of keys) assert.throws(() => new Crypticle(key).open(envelope.load), { code: "CRYPTO_BAD_MAC" });
    return;
  }
  const packed = checkSealed(keyStringOf(recording, item.decrypt), envelope.load, undefined, item.plain);
  const keys = mapEntries(packed).map((entry) => entry.key);
  assert.deepEqual(keys, Object.keys(item.plain as JsonMap), "walked");
  checkToken(recording, envelope.id, packed);
}

function checkHead(load: Uint8Array, plain: unknown): void {
  if (typeof plain !== "object" || plain === null) {
    assert.throws(() => readClearHead(load, 0), { code: "WIRE_MALFORMED" });
    return;
  }
  const { cmd, id, pub } = plain as Record<string, string>;
  const read = readClearHead(load, 0);
  assert.equal(read?.end, load.byteLength);
  const { head } = read;
  assert.deepEqual({ cmd: head.cmd, id: head.id, pub: head.pub && decode(head.pub) }, { cmd, id, pub });
}

/** The token is the word `salt`, signed by the minion's key. */
function checkToken(recording: Recording, id: string | undefined, packed: Uint8Array): void {
  const load = decode(packed, "bytes");
  assert.ok(load instanceof Map);
  const token = load.get("tok");
  const pub = id === undefined ? undefined : recording.minions.get(id)?.pub;
  if (pub === undefined) return;
  assert.ok(token instanceof Uint8Array, "version 3 requests carry a token");
  assert.equal(recoverX931(pub, token).toString("latin1"), "salt");
}

function checkPublish(recording: Recording, item: JsonMap): void {
  const frame = bytesFromBase64(item.payload_b64);
  const publish: Publish = decodePublish(frame);
  const { load, sig } = publish;
  assert.deepEqual([...(decode(frame) as Map<unknown, unknown>).keys()], item.outer_keys);
  assert.deepEqual(encodePublish(publish), frame, "publish written again");
  assert.ok(sig);
  const algorithm = (publish.sigAlgorithm ?? "PKCS1v15-SHA1") as SigAlgorithm;
  assert.ok(verify(recording.master.pub, load, sig, algorithm));
  assert.deepEqual(sign(recording.master.priv, load, algorithm), Buffer.from(sig));
  checkSealed(keyStringOf(recording, item.decrypt), load, undefined, item.plain);
  if (item.topic !== undefined) assert.ok(topicsOf(recording).has(String(item.topic)), "a known topic");
}

function topicsOf(recording: Recording): Set<string> {
  const hashes = [...recording.minions.keys()].map((id) => createHash("sha1").update(id).digest("hex"));
  return new Set(["broadcast", ...hashes]);
}

/** A subscription is byte 01, its end 00, and then the prefix: empty, or a topic. */
function checkSubscription(recording: Recording, item: JsonMap): void {
  const bytes = Buffer.from(String(item.subscription_hex), "hex");
  assert.ok(bytes[0] === 0 || bytes[0] === 1);
  const prefix = bytes.toString("latin1", 1);
  assert.ok(prefix === "" || topicsOf(recording).has(prefix), prefix);
}
