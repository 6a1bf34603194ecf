/**
 * Opens a request: envelope, seal, and the checks in the order of docs/protocol.md section 2.2.
 * Each fault is answered at once, because a client without a reply cannot use its socket again.
 */
import { equalSecrets } from "../../crypto/compare.ts";
import type { Crypticle } from "../../crypto/crypticle.ts";
import { recoverX931 } from "../../crypto/x931.ts";
import { SaltworksError } from "../../errors.ts";
import { authFrameBytesMax, clearFrameBytesMax, loadMembersMax } from "../../limits.ts";
import { idIsValid } from "../../store/keys/keys.ts";
import { encode } from "../../wire/msgpack.ts";
import { badLoad, encodeClearReply, encodeRawReply } from "../../wire/reply.ts";
import { type Envelope, readEnvelope } from "../../wire/request.ts";
import { type Entry, headOf, mapEntries, skipValue } from "../../wire/walk.ts";
import type { Shard } from "../holding/shard.ts";
import type { SealKey } from "../messages/deferred.ts";
import type { BatchEffects, Opened } from "./context.ts";
import { field, type LoadHead, readHead } from "./fields.ts";
import { isOperatorCommand } from "./operator-refusal.ts";

/** `reason` is a counter's name. */
export type Refused = { readonly refused: string; readonly reply: Buffer };
export type Forward = {
  readonly forward: {
    readonly id: string;
    readonly version: number;
    readonly encAlgorithm: string | undefined;
    readonly sealKey: SealKey;
    readonly load: Uint8Array;
  };
};
export type OpenOutcome = Opened | Refused | Forward;

const knownVersionMax = 3;
const notMapReply = encodeRawReply(Buffer.from("payload and load must be a dict"));
const nulReply = encodeRawReply(Buffer.from("bad load: id contains a null byte"));
const unreadableReply = encode({ msg: "bad load" }, "raw");
/** Unsigned, because no minion sends such a request. */
const unsignedRefusal = encodeClearReply({ ret: false });
const provenByToken = 1;
/** All minions hold the master's key. */
const provenBySeal = 2;
const saltBytes = Buffer.from("salt");

function refuse(reason: string, reply: Buffer = badLoad): Refused {
  return { refused: reason, reply };
}

/** Whether a frame is msgpack at all. If not, Salt's answer is another one. */
function isOneValue(frame: Uint8Array): boolean {
  try {
    return skipValue(frame, 0) === frame.byteLength;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
}

/** The envelope of an older request. Minions of 3006.9 to 3006.11 name their algorithms in it. */
type OlderEnvelope = Pick<Envelope, "version" | "encAlgorithm">;

/** Opens a frame as the socket gave it. `isAuthTurn`: it comes from the queue of authentications. An `_auth` that does not must not cost RSA. */
export function openFrame(shard: Shard, batch: BatchEffects, frame: Uint8Array, isAuthTurn: boolean): OpenOutcome {
  let envelope: Envelope;
  try {
    envelope = readEnvelope(frame);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    // A large frame is not walked only to choose the answer.
    const isLarge = frame.byteLength > clearFrameBytesMax;
    return refuse("unreadable", isLarge || isOneValue(frame) ? badLoad : unreadableReply);
  }
  if (envelope.version < shard.start.config.minimum_auth_version) return refuse("version");
  if (envelope.version > knownVersionMax) return refuse("version");
  if (envelope.enc === "clear") return openClear(envelope, frame.byteLength, isAuthTurn);
  return envelope.version >= 3 ? openSession(shard, batch, envelope) : openUnderMasterKey(shard, batch, envelope);
}

function openClear(envelope: Envelope, frameBytes: number, isAuthTurn: boolean): OpenOutcome {
  const entries = entriesOf(envelope.load);
  if (entries === undefined) return refuse("notMap", notMapReply);
  const head = readHead(envelope.load, entries);
  const isTooLarge = frameBytes > authFrameBytesMax || !isAuthTurn;
  if (head.cmd === "_auth" && isTooLarge) return refuse("authTooLarge", unsignedRefusal);
  if (frameBytes > clearFrameBytesMax && !isOperatorCommand(head.cmd)) return refuse("clearTooLarge");
  const idFault = faultyId(head, envelope.load, entries);
  if (idFault !== undefined) return idFault;
  return assemble(envelope, head, envelope.load, entries, false, undefined, "");
}

/** Version 3: sealed under the session key of the outside id, which the inside id must repeat and `tok` must prove. */
function openSession(shard: Shard, batch: BatchEffects, envelope: Envelope): OpenOutcome {
  const id = envelope.id;
  if (id === undefined || !idIsValid(id)) return refuse("invalidId");
  const session = shard.session(id);
  if (session === undefined) return refuse("noSession");
  if (shard.isExpired(session, batch.nowMs)) return refuse("sessionExpired");
  const load = openSeal(session.crypticle, envelope.load);
  if (load === undefined) return refuse("badSeal");
  const entries = entriesOf(load);
  if (entries === undefined) return refuse("notMap", notMapReply);
  const head = readHead(load, entries);
  const idFault = faultyId(head, load, entries);
  if (idFault !== undefined) return idFault;
  const ttlSeconds = shard.start.config.request_server_ttl;
  if (ttlSeconds > 0) {
    const ts = field(load, entries, "ts");
    if (typeof ts !== "number" || batch.nowMs / 1_000 - ts > ttlSeconds) return refuse("expired");
  }
  if (head.id !== id) return refuse("idMismatch");
  if (!tokenProves(shard, id, head.token)) return refuse("badToken");
  batch.proven[batch.item] = provenByToken;
  return assemble(envelope, head, load, entries, true, session.crypticle, head.nonce ?? "");
}

/** Versions 0 and 2: under the master's AES key, or for a grace period the former one. */
function openUnderMasterKey(shard: Shard, batch: BatchEffects, envelope: Envelope): OpenOutcome {
  for (const sealKey of ["current", "former"] as const) {
    const crypticle = shard.masterCrypticle(sealKey);
    const load = crypticle && openSeal(crypticle, envelope.load);
    if (load === undefined) continue;
    const entries = entriesOf(load);
    if (entries === undefined) return refuse("notMap", notMapReply);
    const head = readHead(load, entries);
    const idFault = faultyId(head, load, entries);
    if (idFault !== undefined) return idFault;
    const { id } = head;
    if (id !== undefined && !shard.owns(id))
      return { forward: { id, version: envelope.version, encAlgorithm: envelope.encAlgorithm, sealKey, load } };
    return finishMasterKey(shard, batch, envelope, sealKey, head, load, entries);
  }
  return refuse("badSeal");
}

/** An older request that another worker has opened for this one. */
export function openForwarded(
  shard: Shard,
  batch: BatchEffects,
  envelope: OlderEnvelope,
  sealKey: SealKey,
  load: Uint8Array,
): OpenOutcome {
  const entries = entriesOf(load);
  if (entries === undefined) return refuse("notMap", notMapReply);
  return finishMasterKey(shard, batch, envelope, sealKey, readHead(load, entries), load, entries);
}

function finishMasterKey(
  shard: Shard,
  batch: BatchEffects,
  { version, encAlgorithm }: OlderEnvelope,
  sealKey: SealKey,
  head: LoadHead,
  load: Uint8Array,
  entries: readonly Entry[],
): OpenOutcome {
  const { id, token } = head;
  // All minions hold the master key, so a minion whose own key is gone may still know it.
  if (id !== undefined && (!idIsValid(id) || !shard.isAccepted(id))) return refuse("notAccepted");
  if (id !== undefined && token !== undefined && !tokenProves(shard, id, token)) return refuse("badToken");
  const crypticle = shard.masterCrypticle(sealKey);
  if (crypticle === undefined) return refuse("badSeal");
  batch.proven[batch.item] = id !== undefined && token !== undefined ? provenByToken : provenBySeal;
  if (id !== undefined) batch.contacts.add(id);
  const nonce = version >= 2 ? head.nonce : undefined;
  return assemble(
    { version, encAlgorithm, sigAlgorithm: undefined },
    head,
    load,
    entries,
    token !== undefined,
    crypticle,
    nonce ?? "",
  );
}

/** Verifies a token once per key, then compares it in constant time, because tokens are deterministic. */
function tokenProves(shard: Shard, id: string, token: Uint8Array | undefined): boolean {
  const known = shard.verifiedToken(id);
  if (known !== undefined) return token !== undefined && equalSecrets(known, token);
  const key = shard.acceptedKey(id);
  if (key === undefined || token === undefined) return false;
  shard.count("tokensVerified");
  try {
    if (!equalSecrets(recoverX931(key, token), saltBytes)) return false;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
  shard.keepToken(id, token);
  return true;
}

function openSeal(crypticle: Crypticle, sealed: Uint8Array): Uint8Array | undefined {
  try {
    return crypticle.open(sealed);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return undefined;
  }
}

function entriesOf(load: Uint8Array): readonly Entry[] | undefined {
  try {
    return mapEntries(load, loadMembersMax);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return undefined;
  }
}

function faultyId(head: LoadHead, load: Uint8Array, entries: readonly Entry[]): Refused | undefined {
  if (head.hasForeignId) {
    const text = `bad load: id ${pythonText(load, entries)}is not a string`;
    return refuse("invalidId", encodeRawReply(Buffer.from(text)));
  }
  return head.id?.includes("\0") ? refuse("invalidId", nulReply) : undefined;
}

/** A number as Salt repeats it in its answer; nothing for larger values. */
function pythonText(load: Uint8Array, entries: readonly Entry[]): string {
  const start = entries.findLast((entry) => entry.key === "id")?.valueStart ?? 0;
  const { kind } = headOf(load, start);
  const value = kind === "other" ? field(load, entries, "id") : undefined;
  return typeof value === "number" || typeof value === "bigint" ? `${value} ` : "";
}

function assemble(
  envelope: Pick<Envelope, "version" | "encAlgorithm" | "sigAlgorithm"> & { readonly enc?: Envelope["enc"] },
  head: LoadHead,
  load: Uint8Array,
  entries: readonly Entry[],
  isProven: boolean,
  sealer: Crypticle | undefined,
  replyNonce: string,
): Opened {
  return {
    cmd: head.cmd,
    id: head.id,
    version: envelope.version,
    isClear: envelope.enc === "clear",
    isProven,
    load,
    entries,
    nonce: head.nonce,
    encAlgorithm: envelope.encAlgorithm ?? "OAEP-SHA1",
    sigAlgorithm: envelope.sigAlgorithm ?? "PKCS1v15-SHA1",
    sealer,
    replyNonce,
  };
}
