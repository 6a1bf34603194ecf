/**
 * Replies on the request port: sealed and clear ones, those of `_auth`, and those sealed for one minion (`_pillar`).
 * Source: docs/protocol.md sections 2.3 and 3.2. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { bytesField, intField, mapField, textField } from "./fields.ts";
import { decode, encode } from "./msgpack.ts";
import type { Encodable, Value, ValueMap } from "./values.ts";

/** The reply to most encrypted requests: the ciphertext as one bare string. */
export function encodeRawReply(bytes: Uint8Array): Buffer {
  const length = bytes.length;
  if (length <= 31 || length > 0xffff) return encode(bytes, "raw");
  // Written without the encoder, because every return's reply has this form.
  const frame = Buffer.allocUnsafeSlow(3 + length);
  frame[0] = 0xda;
  frame[1] = length >>> 8;
  frame[2] = length & 0xff;
  frame.set(bytes, 3);
  return frame;
}

/** Begins such a reply for a seal of `length` bytes (64 or more), which the caller writes at the returned offset. */
export function beginRawReply(writer: ByteWriter, length: number): number {
  const headBytes = length <= 0xffff ? 3 : 5;
  const start = writer.reserve(headBytes + length);
  writer.bytes[start] = headBytes === 3 ? 0xda : 0xdb;
  if (headBytes === 3) return writer.bytes.writeUInt16BE(length, start + 1);
  return writer.bytes.writeUInt32BE(length, start + 1);
}

/** @throws SaltworksError WIRE_MALFORMED for a reply that is not one string */
export function decodeRawReply(frame: Uint8Array): Uint8Array {
  const value = decode(frame, "bytes");
  if (!(value instanceof Uint8Array)) throw new SaltworksError("WIRE_MALFORMED", "a reply that is not one string");
  return value;
}

/** The answer to a request that cannot be read or verified. A minion that gets it authenticates again. */
export const badLoad: Buffer = encode("bad load", "raw");

/** The answer to a request whose handler failed, in Salt's words for an exception. It makes a minion authenticate again and retry. */
export const failedReply: Buffer = encode("Some exception handling minion payload", "raw");

/** `{enc: "clear", load}`: verdicts of `_auth` for version 0, unsigned errors, and the reply to a publish. */
export function encodeClearReply(load: Encodable): Buffer {
  return encode({ enc: "clear", load }, "raw");
}

/** The verdicts that give no keys: pending (true), refused (false), no room ("full"), or an algorithm not allowed. */
export type AuthVerdict = boolean | "full" | "bad enc algo" | "bad sig algo";

/** Signed content of a verdict for version 2 and 3; `nonce` as the request had it. */
export function encodeAuthVerdict(ret: AuthVerdict, nonce: string | undefined): Buffer {
  return encode({ ret, nonce }, "raw");
}

/** `aes`, `session`, `token` are RSA-OAEP ciphertexts for the minion; `sig` is X9.31; `pubSig` is Base64 text with its line feed. */
export type AuthAccepted = {
  pubKey: string;
  publishPort: number;
  pubSig?: string;
  token?: Uint8Array;
  aes: Uint8Array;
  session?: Uint8Array;
  sig: Uint8Array;
  nonce?: string;
};

/** Signed content of an acceptance for version 2 and 3; without nonce, the whole frame for version 0. */
export function encodeAuthAccepted(accepted: AuthAccepted): Buffer {
  return encode(
    {
      enc: "pub",
      pub_key: accepted.pubKey,
      publish_port: accepted.publishPort,
      pub_sig: accepted.pubSig,
      token: accepted.token,
      aes: accepted.aes,
      session: accepted.session,
      sig: accepted.sig,
      nonce: accepted.nonce,
    },
    "raw",
  );
}

/** The frame of a signed `_auth` reply: `sig` is PKCS1v15 over exactly the bytes of `load`. */
export function encodeSignedReply(load: Uint8Array, sig: Uint8Array): Buffer {
  return encode({ enc: "clear", load, sig }, "raw");
}

/** `ret` is set for verdicts, `accepted` for acceptances, `signed` for signed replies. Byte strings are views into the frame. */
export type AuthReply = {
  ret?: boolean | string;
  accepted?: AuthAccepted;
  nonce?: string;
  signed?: { bytes: Uint8Array; sig: Uint8Array };
};

/**
 * The reply to `_auth` in any version.
 *
 * @throws SaltworksError WIRE_MALFORMED for any other reply; errors of `decode`
 */
export function decodeAuthReply(frame: Uint8Array): AuthReply {
  const outer = mapOf(decode(frame, "bytes"), "auth reply");
  if (textField(outer, "enc") === "pub") return readAuthContent(outer);
  const clear = mapField(outer, "load");
  if (clear !== undefined) return readAuthContent(clear);
  const bytes = bytesField(outer, "load");
  const sig = bytesField(outer, "sig");
  if (bytes === undefined) throw new SaltworksError("WIRE_MALFORMED", "an auth reply without load");
  const content = readAuthContent(mapOf(decode(bytes, "bytes"), "auth reply"));
  return sig === undefined ? content : { ...content, signed: { bytes, sig } };
}

function readAuthContent(content: ValueMap): AuthReply {
  const nonce = textField(content, "nonce");
  const common = nonce === undefined ? {} : { nonce };
  const ret = content.get("ret");
  if (typeof ret === "boolean") return { ret, ...common };
  const word = textField(content, "ret");
  if (word !== undefined) return { ret: word, ...common };
  return { accepted: { ...readAccepted(content), ...common }, ...common };
}

function readAccepted(content: ValueMap): AuthAccepted {
  const pubKey = textField(content, "pub_key");
  const aes = bytesField(content, "aes");
  const sig = bytesField(content, "sig");
  if (pubKey === undefined || aes === undefined || sig === undefined) {
    throw new SaltworksError("WIRE_MALFORMED", "an auth reply without pub_key, aes or sig");
  }
  const accepted: AuthAccepted = { pubKey, publishPort: intField(content, "publish_port") ?? 4505, aes, sig };
  const pubSig = textField(content, "pub_sig");
  const token = bytesField(content, "token");
  const session = bytesField(content, "session");
  if (pubSig !== undefined) accepted.pubSig = pubSig;
  if (token !== undefined) accepted.token = token;
  if (session !== undefined) accepted.session = session;
  return accepted;
}

function mapOf(value: Value, what: string): ValueMap {
  if (value instanceof Map) return value;
  throw new SaltworksError("WIRE_MALFORMED", `${what} that is not a map`);
}

/** A reply under a fresh key: `key` is that key string, RSA-OAEP for the minion; `pillar` is sealed under it. */
export type PrivateReply = { key: Uint8Array; pillar: Uint8Array };

export function encodePrivateReply(reply: PrivateReply): Buffer {
  return encode({ key: reply.key, pillar: reply.pillar }, "raw");
}

/** @throws SaltworksError REQUEST_REFUSED if the master answered with an error, WIRE_MALFORMED */
export function decodePrivateReply(frame: Uint8Array): PrivateReply {
  const outer = decode(frame, "bytes");
  if (!(outer instanceof Map)) throw new SaltworksError("REQUEST_REFUSED", "the master did not serve the request");
  const key = bytesField(outer, "key");
  const pillar = bytesField(outer, "pillar");
  if (key === undefined || pillar === undefined) {
    throw new SaltworksError("REQUEST_REFUSED", textField(outer, "error") ?? "the master's reply has no key");
  }
  return { key, pillar };
}

/** Signed content of a private reply to version 2 and 3. `key` is the outer key's ciphertext, `pillar` the network encoding of its value. */
export type PrivateData = { key: Uint8Array; pillar: Uint8Array; nonce: string };

const mapOfThree = Buffer.of(0x83);
const [keyName, pillarName, nonceName] = ["key", "pillar", "nonce"].map((name) => encode(name, "raw")) as [
  Buffer,
  Buffer,
  Buffer,
];

/** The map is written around `pillar`, which may be large and is encoded already. */
export function encodePrivateData({ key, pillar, nonce }: PrivateData): Buffer {
  return Buffer.concat([mapOfThree, keyName, encode(key, "raw"), pillarName, pillar, nonceName, encode(nonce, "raw")]);
}

/** Sealed content of a private reply to version 2 and 3: the data's bytes and their PKCS1v15 signature. */
export function encodePrivateSigned(data: Uint8Array, sig: Uint8Array): Buffer {
  return encode({ data, sig }, "raw");
}

export function decodePrivateSigned(packed: Uint8Array): { data: Uint8Array; sig: Uint8Array } {
  const map = mapOf(decode(packed, "bytes"), "private reply");
  const data = bytesField(map, "data");
  const sig = bytesField(map, "sig");
  if (data === undefined || sig === undefined)
    throw new SaltworksError("WIRE_MALFORMED", "a private reply without data or sig");
  return { data, sig };
}

export function decodePrivateData(bytes: Uint8Array): { key: Uint8Array; pillar: Value; nonce: string } {
  const map = mapOf(decode(bytes), "private data");
  const key = bytesField(mapOf(decode(bytes, "bytes"), "private data"), "key");
  const nonce = textField(map, "nonce");
  const pillar = map.get("pillar");
  if (key === undefined || nonce === undefined || pillar === undefined) {
    throw new SaltworksError("WIRE_MALFORMED", "private data without key, pillar or nonce");
  }
  return { key, pillar, nonce };
}
