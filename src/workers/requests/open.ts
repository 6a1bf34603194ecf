/**
 * Opens a request: reads the envelope, opens the seal and makes the checks of docs/protocol.md section 2.2 in their order.
 * Each fault is answered at once, because a ZeroMQ REQ socket without a reply cannot send again.
 */
import { equalSecrets } from "../../crypto/compare.ts";
import type { Crypticle } from "../../crypto/crypticle.ts";
import { recoverX931 } from "../../crypto/x931.ts";
import { SaltworksError } from "../../errors.ts";
import { authFrameBytesMax, clearFrameBytesMax, loadMembersMax, sharedSessionTryBytesMax } from "../../limits.ts";
import { idIsValid } from "../../store/keys/keys.ts";
import { encode } from "../../wire/msgpack.ts";
import { badLoad, encodeClearReply, encodeRawReply } from "../../wire/reply.ts";
import { type Envelope, readEnvelope } from "../../wire/request.ts";
import { type Entry, mapEntries, skipValue } from "../../wire/walk.ts";
import type { SealKey } from "../messages/deferred.ts";
import type { Session, WorkerState } from "../state/worker-state.ts";
import type { BatchEffects, Opened } from "./context.ts";
import { type LoadHead, readHead, scalarOf } from "./fields.ts";
import { isOperatorCommand } from "./operator-refusal.ts";

/** `refused` is the name of a counter. */
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
/** This reply is unsigned, because no minion sends such a request. */
const unsignedRefusal = encodeClearReply({ ret: false });
const provenByToken = 1;
/** The seal alone does not prove an id, because all minions hold the master's AES key. */
const provenBySeal = 2;
const saltBytes = Buffer.from("salt");

function refuse(reason: string, reply: Buffer = badLoad): Refused {
  return { refused: reason, reply };
}

/** Whether a frame is one msgpack value. Salt answers a frame that is not msgpack differently. */
function isOneValue(frame: Uint8Array): boolean {
  try {
    return skipValue(frame, 0) === frame.byteLength;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
}

/** The envelope of an older request (versions 0 and 2). Minions of 3006.9 to 3006.11 name their algorithms in it. */
type OlderEnvelope = Pick<Envelope, "version" | "encAlgorithm">;

/** Opens a frame as the socket gave it. `isAuthTurn`: it comes from the queue of authentications. Any other `_auth` is refused without RSA. */
export function openFrame(
  worker: WorkerState,
  batch: BatchEffects,
  frame: Uint8Array,
  isAuthTurn: boolean,
): OpenOutcome {
  let envelope: Envelope;
  try {
    envelope = readEnvelope(frame);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    // A large frame is not read again only to choose the reply.
    const isLarge = frame.byteLength > clearFrameBytesMax;
    return refuse("unreadable", isLarge || isOneValue(frame) ? badLoad : unreadableReply);
  }
  if (envelope.version < worker.start.config.minimum_auth_version) return refuse("version");
  if (envelope.version > knownVersionMax) return refuse("version");
  if (envelope.enc === "clear") return openClear(envelope, frame.byteLength, isAuthTurn);
  return envelope.version >= 3 ? openSession(worker, batch, envelope) : openUnderMasterKey(worker, batch, envelope);
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

/** Opens a request of version 3. The session key of the id outside seals it. The id inside must be the same, and `tok` must prove it. */
function openSession(worker: WorkerState, batch: BatchEffects, envelope: Envelope): OpenOutcome {
  const id = envelope.id;
  if (id === undefined || !idIsValid(id)) return refuse("invalidId");
  const opened = openUnderSession(worker, id, batch.nowMs, envelope.load);
  if (typeof opened === "string") return refuse(opened);
  const { session, load } = opened;
  const entries = entriesOf(load);
  if (entries === undefined) return refuse("notMap", notMapReply);
  const head = readHead(load, entries);
  const idFault = faultyId(head, load, entries);
  if (idFault !== undefined) return idFault;
  const ttlSeconds = worker.start.config.request_server_ttl;
  if (ttlSeconds > 0) {
    const ts = scalarOf(load, entries, "ts");
    if (typeof ts !== "number" || batch.nowMs / 1_000 - ts > ttlSeconds) return refuse("expired");
  }
  if (head.id !== id) return refuse("idMismatch");
  if (!tokenProves(worker, id, head.token)) return refuse("badToken");
  batch.proven[batch.item] = provenByToken;
  if (opened.isShared) {
    worker.count("sessionsShared");
    worker.useSession(id, session);
  }
  return assemble(envelope, head, load, entries, true, session.crypticle, head.nonce ?? "");
}

type UnderSession = { readonly session: Session; readonly load: Uint8Array; readonly isShared: boolean };

/** Tries the minion's session here, and then the sessions that it may have from other members of the cluster. @returns why no session opens it */
function openUnderSession(
  worker: WorkerState,
  id: string,
  nowMs: number,
  sealed: Uint8Array,
): UnderSession | "noSession" | "sessionExpired" | "badSeal" {
  const present = worker.session(id);
  const isPast = present !== undefined && worker.isExpired(present, nowMs);
  if (present !== undefined && !isPast) {
    const load = openSeal(present.crypticle, sealed);
    if (load !== undefined) return { session: present, load, isShared: false };
  }
  const isTooLarge = sealed.byteLength > sharedSessionTryBytesMax;
  if (isTooLarge) worker.count("sessionsNotTried");
  for (const session of isTooLarge ? [] : worker.sharedSessions(id, nowMs)) {
    const load = openSeal(session.crypticle, sealed);
    if (load !== undefined) return { session, load, isShared: true };
  }
  if (present === undefined) return "noSession";
  return isPast ? "sessionExpired" : "badSeal";
}

/** Opens a request of version 0 or 2. The master's AES key seals it; after a rotation the former key also counts for a grace period. */
function openUnderMasterKey(worker: WorkerState, batch: BatchEffects, envelope: Envelope): OpenOutcome {
  for (const sealKey of ["current", "former"] as const) {
    const crypticle = worker.masterCrypticle(sealKey);
    const load = crypticle && openSeal(crypticle, envelope.load);
    if (load === undefined) continue;
    const entries = entriesOf(load);
    if (entries === undefined) return refuse("notMap", notMapReply);
    const head = readHead(load, entries);
    const idFault = faultyId(head, load, entries);
    if (idFault !== undefined) return idFault;
    const { id } = head;
    if (id !== undefined && !worker.owns(id))
      return { forward: { id, version: envelope.version, encAlgorithm: envelope.encAlgorithm, sealKey, load } };
    return finishMasterKey(worker, batch, envelope, sealKey, head, load, entries);
  }
  return refuse("badSeal");
}

/** Finishes an older request whose seal another worker has opened. */
export function openForwarded(
  worker: WorkerState,
  batch: BatchEffects,
  envelope: OlderEnvelope,
  sealKey: SealKey,
  load: Uint8Array,
): OpenOutcome {
  const entries = entriesOf(load);
  if (entries === undefined) return refuse("notMap", notMapReply);
  return finishMasterKey(worker, batch, envelope, sealKey, readHead(load, entries), load, entries);
}

function finishMasterKey(
  worker: WorkerState,
  batch: BatchEffects,
  { version, encAlgorithm }: OlderEnvelope,
  sealKey: SealKey,
  head: LoadHead,
  load: Uint8Array,
  entries: readonly Entry[],
): OpenOutcome {
  const { id, token } = head;
  // All minions hold the master's AES key, so a minion whose own key was removed may still know it.
  if (id !== undefined && (!idIsValid(id) || !worker.isAccepted(id))) return refuse("notAccepted");
  if (id !== undefined && token !== undefined && !tokenProves(worker, id, token)) return refuse("badToken");
  const crypticle = worker.masterCrypticle(sealKey);
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

/** Verifies a token by RSA once per key. Tokens are deterministic, so later ones are compared with the first, in constant time. */
function tokenProves(worker: WorkerState, id: string, token: Uint8Array | undefined): boolean {
  const known = worker.verifiedToken(id);
  if (known !== undefined) return token !== undefined && equalSecrets(known, token);
  const key = worker.acceptedKey(id);
  if (key === undefined || token === undefined) return false;
  worker.count("tokensVerified");
  try {
    if (!equalSecrets(recoverX931(key, token), saltBytes)) return false;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
  worker.keepToken(id, token);
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

/** The id as Salt's reply repeats it if it is a number; empty for lists and maps. */
function pythonText(load: Uint8Array, entries: readonly Entry[]): string {
  const value = scalarOf(load, entries, "id");
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
