/**
 * `_auth`: decides what becomes of a minion's key and hands the RSA work to its lane.
 * docs/protocol.md section 3.3 numbers the steps of the decision.
 */
import { cleanPem, loadPublicKey } from "../../crypto/pem.ts";
import { isEncAlgorithm, isSigAlgorithm } from "../../crypto/rsa.ts";
import { hasCode } from "../../errors.ts";
import { publicKeyBytesMax } from "../../limits.ts";
import type { Autosign } from "../../store/keys/autosign.ts";
import { idIsValid } from "../../store/keys/keys.ts";
import { encode } from "../../wire/msgpack.ts";
import { badLoad } from "../../wire/reply.ts";
import type { Shard } from "../holding/shard.ts";
import type { AuthTask } from "../messages/batch.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { bytesOf, field, textOf } from "./fields.ts";

/** `pend`, `accept`, `denied`, `reject`, `full`: the words of Salt's `salt/auth` event. */
type Act = "pend" | "accept" | "denied" | "reject" | "full" | undefined;
/** `hasNoRoom`: `pending_keys_max` is reached. The minion waits as with a pending key, but its key is not written. */
type Decision = { readonly ret: boolean | "full"; readonly act: Act; readonly hasNoRoom?: true };

const noRoomText =
  "a new minion's key is not kept: there are pending_keys_max pending keys; accept, reject or delete some, or raise the option";
/** The minion asks again, as with a pending key. */
const noRoom: Decision = { ret: true, act: "full", hasNoRoom: true };
const refusedKey: Decision = { ret: false, act: undefined };

export function handleAuth(
  shard: Shard,
  autosign: Autosign,
  batch: BatchEffects,
  opened: Opened,
  isOverMinionsMax: boolean,
): Answer {
  shard.count("auths");
  const { load, entries } = opened;
  const id = textOf(load, entries, "id");
  const sigAlgorithm = textOf(load, entries, "sig_algo") ?? "PKCS1v15-SHA1";
  const encAlgorithm = textOf(load, entries, "enc_algo") ?? "OAEP-SHA1";
  if (opened.version >= 2 && !isSigAlgorithm(sigAlgorithm)) return refuseAlgorithm(shard, "bad sig algo");
  if (!isEncAlgorithm(encAlgorithm)) return refuseAlgorithm(shard, "bad enc algo");
  if (id === undefined) {
    shard.count("refused.authWithoutId");
    return { raw: badLoad };
  }
  const pub = textOf(load, entries, "pub") ?? "";
  const decision = decide(shard, autosign, id, pub, field(load, entries, "autosign_grains"), isOverMinionsMax);
  shard.count(`auth.${decision.hasNoRoom === true ? "noRoom" : (decision.act ?? "refused")}`);
  if (decision.hasNoRoom === true) batch.refuse(id, noRoomText);
  if (shard.start.config.auth_events) {
    const act = decision.act === undefined ? {} : { act: decision.act };
    batch.fire("salt/auth", {
      result: decision.ret === true && decision.act !== "full",
      ...act,
      id,
      pub: pub.slice(0, publicKeyBytesMax),
    });
  }
  const isAccepted = decision.act === "accept";
  const outcome = isAccepted ? accept(shard, batch, id, pub, bytesOf(load, entries, "token")) : { ret: decision.ret };
  return {
    auth: { version: opened.version, nonce: opened.nonce, encAlgorithm, sigAlgorithm, outcome },
    acceptedId: isAccepted ? id : undefined,
  };
}

function refuseAlgorithm(shard: Shard, text: string): Answer {
  shard.count("refused.algorithm");
  return { raw: encode({ enc: "clear", load: { ret: text } }, "raw") };
}

function accept(
  shard: Shard,
  batch: BatchEffects,
  id: string,
  pub: string,
  token: Uint8Array | undefined,
): AuthTask["outcome"] {
  const isKnown = shard.isAccepted(id);
  shard.accept(id, pub);
  if (!isKnown) batch.accepted.push(id);
  const { session, stored } = shard.issueSession(id, batch.nowMs);
  if (stored !== undefined) batch.writes.push(stored);
  batch.contacts.add(id);
  batch.authenticated.push(id);
  return { pub, session: session.keyString, token };
}

/** Steps 1 to 9. Only the partition's worker writes an id's key files, so that two `_auth`s of it never race. */
function decide(
  shard: Shard,
  autosign: Autosign,
  id: string,
  pub: string,
  grains: unknown,
  isOverMinionsMax: boolean,
): Decision {
  if (!idIsValid(id)) return refusedKey;
  if (isOverMinionsMax) return { ret: "full", act: "full" };
  if (shard.acceptedPem(id) !== pub && !isUsableKey(pub)) return refusedKey;
  const keys = shard.stores.keys;
  if (shard.start.config.open_mode) return acceptOpenly(shard, id, pub);
  if (keys.stampOf("rejected", id) !== undefined) return { ret: false, act: "reject" };
  const accepted = shard.acceptedPemNow(id);
  if (accepted !== undefined) return isSameKey(accepted, pub) ? { ret: true, act: "accept" } : deny(shard, id, pub);
  const isAutoRejected = autosign.isAutoRejected(id);
  const isAutoSigned = autosign.isAutoSigned(id, grains instanceof Map ? grains : undefined);
  const pending = keys.read("pending", id);
  const decision =
    pending === undefined
      ? decideUnknown(shard, id, pub, isAutoRejected, isAutoSigned)
      : decidePending(shard, id, pub, pending, isAutoRejected, isAutoSigned);
  autosign.noteDecided();
  return decision;
}

function isSameKey(stored: string, pub: string): boolean {
  return stored === pub || cleanPem(stored) === cleanPem(pub);
}

/** Writes a denied key once, so that a client that repeats it does not cost a file each time. */
function deny(shard: Shard, id: string, pub: string): Decision {
  const { keys } = shard.stores;
  if (keys.read("denied", id) !== pub) keys.write("denied", id, pub);
  return { ret: false, act: "denied" };
}

function acceptOpenly(shard: Shard, id: string, pub: string): Decision {
  const keys = shard.stores.keys;
  const present = shard.acceptedPemNow(id);
  if (present === undefined || !isSameKey(present, pub)) keys.write("accepted", id, pub);
  return { ret: true, act: "accept" };
}

function decideUnknown(
  shard: Shard,
  id: string,
  pub: string,
  isAutoRejected: boolean,
  isAutoSigned: boolean,
): Decision {
  const keys = shard.stores.keys;
  if (isAutoRejected) {
    if (shard.unprovenKeys.take("rejected", performance.now())) keys.write("rejected", id, pub);
    return { ret: false, act: "reject" };
  }
  if (!isAutoSigned) {
    if (!shard.unprovenKeys.take("pending", performance.now())) return noRoom;
    keys.write("pending", id, pub);
    return { ret: true, act: "pend" };
  }
  keys.write("accepted", id, pub);
  return { ret: true, act: "accept" };
}

function decidePending(
  shard: Shard,
  id: string,
  pub: string,
  pending: string,
  isAutoRejected: boolean,
  isAutoSigned: boolean,
): Decision {
  const keys = shard.stores.keys;
  if (isAutoRejected) {
    keys.move(id, "pending", "rejected");
    return { ret: false, act: "reject" };
  }
  if (!isSameKey(pending, pub)) return deny(shard, id, pub);
  if (!isAutoSigned) return { ret: true, act: "pend" };
  // Written before it is removed: a failed write must not lose the pending key.
  keys.write("accepted", id, pub);
  keys.remove("pending", id);
  return { ret: true, act: "accept" };
}

/** Refuses a key that cannot be loaded, which would fail each later step. */
function isUsableKey(pub: string): boolean {
  if (pub === "" || Buffer.byteLength(pub) > publicKeyBytesMax) return false;
  try {
    loadPublicKey(pub);
    return true;
  } catch (error) {
    if (!hasCode(error, "CRYPTO_BAD_KEY")) throw error;
    return false;
  }
}
