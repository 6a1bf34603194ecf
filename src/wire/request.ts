/**
 * Request envelopes: what a client puts around its load on the request port.
 * Source: docs/protocol.md section 2.1. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import { decodedValuesMax, envelopeMembersMax, headMembersMax, headTextBytesMax, headValuesMax } from "../limits.ts";
import { encode } from "./msgpack.ts";
import type { Encodable } from "./values.ts";
import { afterValue, headOf, keyOf, mapHead, skipWithin, stringStart, textOf } from "./walk.ts";

/** `load` is a view: of an `aes` request the ciphertext, of a `clear` one the msgpack bytes of the load. A request without version is version 0. */
export type Envelope = {
  enc: "clear" | "aes";
  version: number;
  id: string | undefined;
  encAlgorithm: string | undefined;
  sigAlgorithm: string | undefined;
  load: Uint8Array;
};

/**
 * Reads an envelope by walking it: the load is not decoded.
 *
 * @throws SaltworksError WIRE_MALFORMED, WIRE_TRUNCATED, WIRE_TOO_DEEP, WIRE_TOO_LARGE
 */
export function readEnvelope(frame: Uint8Array): Envelope {
  const { count, start } = mapHead(frame, 0);
  if (count > envelopeMembersMax)
    throw new SaltworksError("WIRE_TOO_LARGE", "envelope with too many members", { count, max: envelopeMembersMax });
  let position = start;
  let enc: string | undefined;
  let loadStart = -1;
  let loadEnd = -1;
  const envelope: Envelope = {
    enc: "clear",
    version: 0,
    id: undefined,
    encAlgorithm: undefined,
    sigAlgorithm: undefined,
    load: frame,
  };
  for (let index = 0; index < count; index += 1) {
    const keyEnd = stepWithin(frame, position, headValuesMax);
    const key = keyOf(frame, position, keyEnd);
    // No handler can use a load with more values than one decoding may build.
    const valueEnd = stepWithin(frame, keyEnd, key === "load" ? decodedValuesMax : headValuesMax);
    switch (key) {
      case "enc":
        enc = textOf(frame, keyEnd, valueEnd);
        break;
      case "load":
        loadStart = keyEnd;
        loadEnd = valueEnd;
        break;
      case "version":
        envelope.version = versionAt(frame, keyEnd);
        break;
      case "id":
        envelope.id = requiredText(frame, keyEnd, valueEnd, "id");
        break;
      case "enc_algo":
        envelope.encAlgorithm = requiredText(frame, keyEnd, valueEnd, "enc_algo");
        break;
      case "sig_algo":
        envelope.sigAlgorithm = requiredText(frame, keyEnd, valueEnd, "sig_algo");
        break;
    }
    position = valueEnd;
  }
  if (position !== frame.length) throw afterValue(frame.length - position);
  if ((enc !== "clear" && enc !== "aes") || loadStart < 0) throw malformed("enc or load");
  envelope.enc = enc;
  const bodyStart = enc === "aes" ? stringStart(frame, loadStart) : loadStart;
  if (bodyStart < 0) throw malformed("load");
  envelope.load = frame.subarray(bodyStart, loadEnd);
  return envelope;
}

function stepWithin(frame: Uint8Array, offset: number, valuesMax: number): number {
  const end = skipWithin(frame, offset, valuesMax);
  if (end < 0) throw new SaltworksError("WIRE_TOO_LARGE", "envelope with too many values", { max: valuesMax });
  return end;
}

function malformed(field: string): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", `envelope without a usable ${field}`, { field });
}

function requiredText(frame: Uint8Array, start: number, end: number, field: string): string {
  const text = textOf(frame, start, end);
  if (text === undefined) throw malformed(field);
  return text;
}

/** Salt's versions are 0 to 3, so that only a single-byte integer is valid. */
function versionAt(frame: Uint8Array, offset: number): number {
  const code = frame[offset] ?? 0xff;
  if (code > 0x7f) throw malformed("version");
  return code;
}

/**
 * Members of a clear load that are read before the sender is verified; undefined if absent or of another type. `pub`: the key of an `_auth`, encoded.
 */
export type ClearHead = {
  cmd: string | undefined;
  id: string | undefined;
  pub: Uint8Array | undefined;
  /** The operator's name and key, as the sender claims them. */
  user: string | undefined;
  key: Uint8Array | undefined;
  /** Credentials beside the key, or instead of it. */
  login: Login | undefined;
};

/** Credentials of external authentication: a token takes precedence over a password (`eauth`). `unread`: the members exceed the bounds of reading. */
export type Login = "token" | "eauth" | "unread";

/**
 * The head of the clear load at `offset`, and where the load ends. As in Salt, the last of two equal members counts. For hostile
 * senders it skips strings by their lengths, and gives up after `headMembersMax` members or `headValuesMax` values.
 *
 * @returns undefined if it gave up
 * @throws SaltworksError WIRE_MALFORMED if the load is not a map, WIRE_TRUNCATED, WIRE_TOO_DEEP
 */
export function readClearHead(
  bytes: Uint8Array,
  offset: number,
): { readonly head: ClearHead; readonly end: number } | undefined {
  const { count, start } = mapHead(bytes, offset);
  if (count > headMembersMax) return undefined;
  const head: ClearHead = {
    cmd: undefined,
    id: undefined,
    pub: undefined,
    user: undefined,
    key: undefined,
    login: undefined,
  };
  const logins: Logins = { own: undefined, ofKwargs: undefined };
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const keyEnd = skipWithin(bytes, position, headValuesMax);
    const valueEnd = keyEnd < 0 ? -1 : skipWithin(bytes, keyEnd, headValuesMax);
    if (valueEnd < 0) return undefined;
    const name = keyOf(bytes, position, keyEnd);
    if (name === "kwargs") logins.ofKwargs = loginWithin(bytes, keyEnd);
    else logins.own = strongerLogin(logins.own, name);
    noteMember(head, name, bytes, keyEnd, valueEnd);
    position = valueEnd;
  }
  head.login = head.cmd === "publish" ? logins.ofKwargs : logins.own;
  return { head, end: position };
}

/** A publish has its credentials in `kwargs`, any other command among its own members. */
type Logins = { own: Login | undefined; ofKwargs: Login | undefined };

/** `offset`: start of a value that a walk has bounded by `headValuesMax`. */
function loginWithin(bytes: Uint8Array, offset: number): Login | undefined {
  const { kind, count, start } = headOf(bytes, offset);
  if (kind !== "map") return undefined;
  if (count > headMembersMax) return "unread";
  let login: Login | undefined;
  let position = start;
  for (let left = count; left > 0; left -= 1) {
    const keyEnd = skipWithin(bytes, position, headValuesMax);
    login = strongerLogin(login, keyOf(bytes, position, keyEnd));
    position = skipWithin(bytes, keyEnd, headValuesMax);
  }
  return login;
}

function strongerLogin(login: Login | undefined, name: string | undefined): Login | undefined {
  return name === "token" || (name === "eauth" && login === undefined) ? name : login;
}

function noteMember(head: ClearHead, name: string | undefined, bytes: Uint8Array, start: number, end: number): void {
  switch (name) {
    case "cmd":
    case "id":
    case "user":
      head[name] = shortTextOf(bytes, start, end);
      break;
    case "pub":
      head.pub = bytes.subarray(start, end);
      break;
    case "key": {
      const bodyStart = stringStart(bytes, start);
      head.key = bodyStart < 0 ? undefined : bytes.subarray(bodyStart, end);
      break;
    }
  }
}

/** Undefined, without decoding, for a text over `headTextBytesMax`. */
function shortTextOf(bytes: Uint8Array, start: number, end: number): string | undefined {
  return end - start > headTextBytesMax ? undefined : textOf(bytes, start, end);
}

/** For `version` 0 the member is left out. */
export function encodeClearRequest(load: Encodable, version: number): Buffer {
  return encode({ enc: "clear", load, version: version === 0 ? undefined : version }, "raw");
}

/** Members in the order that Salt sends them; those not given are left out. */
export function encodeSealedRequest(
  sealed: Uint8Array,
  r: { version: number; id?: string; encAlgorithm?: string; sigAlgorithm?: string },
): Buffer {
  return encode(
    {
      enc: "aes",
      load: sealed,
      version: r.version === 0 ? undefined : r.version,
      id: r.id,
      enc_algo: r.encAlgorithm,
      sig_algo: r.sigAlgorithm,
    },
    "raw",
  );
}
