/**
 * `_auth`: decides whether a minion's key is accepted, pending, denied or rejected. The RSA lane makes the reply.
 * docs/protocol.md section 3.3 numbers the steps of the decision.
 */
import { cleanPem, loadPublicKey } from "../../crypto/pem.ts";
import { isEncAlgorithm, isSigAlgorithm } from "../../crypto/rsa.ts";
import { hasCode } from "../../errors.ts";
import { autosignGrainsMax, publicKeyBytesMax } from "../../limits.ts";
import type { Autosign, GrainOf } from "../../store/keys/autosign.ts";
import { idIsValid } from "../../store/keys/keys.ts";
import { encode } from "../../wire/msgpack.ts";
import { badLoad } from "../../wire/reply.ts";
import { type Entry, headOf, mapEntries } from "../../wire/walk.ts";
import type { AuthTask } from "../messages/batch.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { bytesOf, fieldBytes, scalarOf, textOf } from "./fields.ts";

/** `pend`, `accept`, `denied`, `reject`, `full`: the words of Salt's `salt/auth` event. */
type Act = "pend" | "accept" | "denied" | "reject" | "full" | undefined;
/** `hasNoRoom`: `pending_keys_max` is reached. The minion asks again later as with a pending key, but its key is not written. */
type Decision = { readonly ret: boolean | "full"; readonly act: Act; readonly hasNoRoom?: true };

const noRoomText =
  "a new minion's key is not kept: there are pending_keys_max pending keys; accept, reject or delete some, or raise the option";
const noRoom: Decision = { ret: true, act: "full", hasNoRoom: true };
const refusedKey: Decision = { ret: false, act: undefined };

export function handleAuth(
  worker: WorkerState,
  autosign: Autosign,
  batch: BatchEffects,
  opened: Opened,
  isOverMinionsMax: boolean,
): Answer {
  worker.count("auths");
  const { load, entries } = opened;
  const id = textOf(load, entries, "id");
  const sigAlgorithm = textOf(load, entries, "sig_algo") ?? "PKCS1v15-SHA1";
  const encAlgorithm = textOf(load, entries, "enc_algo") ?? "OAEP-SHA1";
  if (opened.version >= 2 && !isSigAlgorithm(sigAlgorithm)) return refuseAlgorithm(worker, "bad sig algo");
  if (!isEncAlgorithm(encAlgorithm)) return refuseAlgorithm(worker, "bad enc algo");
  if (id === undefined) {
    worker.count("refused.authWithoutId");
    return { raw: badLoad };
  }
  const pub = textOf(load, entries, "pub") ?? "";
  const grainOf = grainsIn(fieldBytes(load, entries, "autosign_grains"));
  const decision = decide(worker, autosign, id, pub, grainOf, isOverMinionsMax);
  worker.count(`auth.${decision.hasNoRoom === true ? "noRoom" : (decision.act ?? "refused")}`);
  if (decision.hasNoRoom === true) batch.refuse(id, noRoomText);
  if (worker.start.config.auth_events) {
    const act = decision.act === undefined ? {} : { act: decision.act };
    batch.fire("salt/auth", {
      result: decision.ret === true && decision.act !== "full",
      ...act,
      id,
      pub: pub.slice(0, publicKeyBytesMax),
    });
  }
  const isAccepted = decision.act === "accept";
  const outcome = isAccepted ? accept(worker, batch, id, pub, bytesOf(load, entries, "token")) : { ret: decision.ret };
  return {
    auth: { version: opened.version, nonce: opened.nonce, encAlgorithm, sigAlgorithm, outcome },
    acceptedId: isAccepted ? id : undefined,
  };
}

function refuseAlgorithm(worker: WorkerState, text: string): Answer {
  worker.count("refused.algorithm");
  return { raw: encode({ enc: "clear", load: { ret: text } }, "raw") };
}

function accept(
  worker: WorkerState,
  batch: BatchEffects,
  id: string,
  pub: string,
  token: Uint8Array | undefined,
): AuthTask["outcome"] {
  const isKnown = worker.isAccepted(id);
  worker.accept(id, pub);
  if (!isKnown) batch.accepted.push(id);
  const { session, stored } = worker.issueSession(id, batch.nowMs);
  if (stored !== undefined) batch.writes.push(stored);
  batch.contacts.add(id);
  batch.authenticated.push(id);
  return { pub, session: session.keyString, token };
}

/** Steps 1 to 9. Only the worker of the id's partition writes its key files, so that two `_auth`s of the id never race. */
function decide(
  worker: WorkerState,
  autosign: Autosign,
  id: string,
  pub: string,
  grainOf: GrainOf,
  isOverMinionsMax: boolean,
): Decision {
  if (!idIsValid(id)) return refusedKey;
  if (isOverMinionsMax) return { ret: "full", act: "full" };
  if (worker.acceptedPem(id) !== pub && !isUsableKey(pub)) return refusedKey;
  const keys = worker.stores.keys;
  if (worker.start.config.open_mode) return acceptOpenly(worker, id, pub);
  if (keys.stampOf("rejected", id) !== undefined) return { ret: false, act: "reject" };
  const accepted = worker.acceptedPemNow(id);
  if (accepted !== undefined) return isSameKey(accepted, pub) ? { ret: true, act: "accept" } : deny(worker, id, pub);
  const isAutoRejected = autosign.isAutoRejected(id);
  const isAutoSigned = autosign.isAutoSigned(id, grainOf);
  const pending = keys.read("pending", id);
  const decision =
    pending === undefined
      ? decideUnknown(worker, id, pub, isAutoRejected, isAutoSigned)
      : decidePending(worker, id, pub, pending, isAutoRejected, isAutoSigned);
  autosign.noteDecided();
  return decision;
}

/**
 * Reads `autosign_grains` by name, at the first question: any client may send them, and most decisions need none. Builds no map of the client's keys.
 * Lists and maps match no line of an operator's, so they are not decoded.
 */
function grainsIn(packed: Uint8Array | undefined): GrainOf {
  if (packed === undefined) return () => undefined;
  let entries: readonly Entry[] | undefined;
  return (name) => {
    entries ??= grainEntries(packed);
    return scalarOf(packed, entries, name);
  };
}

function grainEntries(packed: Uint8Array): readonly Entry[] {
  const head = headOf(packed, 0);
  return head.kind === "map" && head.count <= autosignGrainsMax ? mapEntries(packed, autosignGrainsMax) : [];
}

function isSameKey(stored: string, pub: string): boolean {
  return stored === pub || cleanPem(stored) === cleanPem(pub);
}

/** Writes a denied key unless it is already on disk, so that a client that repeats its `_auth` does not cost a write each time. */
function deny(worker: WorkerState, id: string, pub: string): Decision {
  const { keys } = worker.stores;
  if (keys.read("denied", id) !== pub) keys.write("denied", id, pub);
  return { ret: false, act: "denied" };
}

function acceptOpenly(worker: WorkerState, id: string, pub: string): Decision {
  const keys = worker.stores.keys;
  const present = worker.acceptedPemNow(id);
  if (present === undefined || !isSameKey(present, pub)) keys.write("accepted", id, pub);
  return { ret: true, act: "accept" };
}

function decideUnknown(
  worker: WorkerState,
  id: string,
  pub: string,
  isAutoRejected: boolean,
  isAutoSigned: boolean,
): Decision {
  const keys = worker.stores.keys;
  if (isAutoRejected) {
    if (worker.unprovenKeys.take("rejected", performance.now())) keys.write("rejected", id, pub);
    return { ret: false, act: "reject" };
  }
  if (!isAutoSigned) {
    if (!worker.unprovenKeys.take("pending", performance.now())) return noRoom;
    keys.write("pending", id, pub);
    return { ret: true, act: "pend" };
  }
  keys.write("accepted", id, pub);
  return { ret: true, act: "accept" };
}

function decidePending(
  worker: WorkerState,
  id: string,
  pub: string,
  pending: string,
  isAutoRejected: boolean,
  isAutoSigned: boolean,
): Decision {
  const keys = worker.stores.keys;
  if (isAutoRejected) {
    keys.move(id, "pending", "rejected");
    return { ret: false, act: "reject" };
  }
  if (!isSameKey(pending, pub)) return deny(worker, id, pub);
  if (!isAutoSigned) return { ret: true, act: "pend" };
  // The accepted key is written before the pending one is removed, because a failed write must not lose the key.
  keys.write("accepted", id, pub);
  keys.remove("pending", id);
  return { ret: true, act: "accept" };
}

/** Whether the key can be loaded. A key that cannot would fail each later step. */
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
