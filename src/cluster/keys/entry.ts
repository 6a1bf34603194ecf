/** One entry of the bucket of minion keys: a minion's key files, as MessagePack, under its encoded id. Pure. */
import { createHash } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { keyEntryBytesMax, keyMarkKeptMs } from "../../limits.ts";
import { idIsValid, type KeyState, keyStates } from "../../store/keys/states.ts";
import { intField, mapField, textField } from "../../wire/fields.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { otherVersion } from "../other-version.ts";

const version = 1;
/** 128 bits: ids are compared with themselves only, and no one gains by a collision of two of their own keys. */
const digestCharacters = 22;

/** Of the bucket. Twice the largest entry, because a name may take as much again. */
export const keyBucketForm = {
  what: "minion keys",
  valueBytesMax: 2 * keyEntryBytesMax,
  endMarkMs: keyMarkKeptMs,
} as const;

/** A minion's key files: the PEM text by state. A minion may have several, such as an accepted key and another one that was denied. */
export type KeySet = Readonly<Partial<Record<KeyState, string>>>;
/** `by`: the member that wrote it. */
export type KeyEntry = { readonly id: string; readonly by: string; readonly keys: KeySet };

/** The digest of no key at all. */
export const noKeys = "";

/** Equal for equal sets only. `noKeys` for an empty one. */
export function digestOf(keys: KeySet): string {
  const texts = keyStates.map((state) => keys[state] ?? null);
  if (texts.every((text) => text === null)) return noKeys;
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64url").slice(0, digestCharacters);
}

/** The states of a set, for the log. */
export function statesIn(keys: KeySet): string {
  const states = keyStates.filter((state) => keys[state] !== undefined);
  return states.length === 0 ? "none" : states.join("+");
}

/** The id as a key of the bucket: of the characters of base64url only. */
export function bucketKeyOf(id: string): string {
  return Buffer.from(id, "utf8").toString("base64url");
}

/** The id; undefined if the key is none that `bucketKeyOf` makes of a valid id. */
export function idOfBucketKey(key: string): string | undefined {
  const id = Buffer.from(key, "base64url").toString("utf8");
  return idIsValid(id) && bucketKeyOf(id) === key ? id : undefined;
}

/** At most `keyEntryBytesMax` bytes, if each key is within `publicKeyBytesMax`. */
export function encodeEntry({ id, by, keys }: KeyEntry): Buffer {
  return encode({ v: version, id, by, keys: { ...keys } }, "bin");
}

/** @throws SaltworksError CLUSTER_REFUSED, or what `decode` throws, for bytes that are not an entry of this version for `id` */
export function decodeEntry(id: string, bytes: Uint8Array): KeyEntry {
  if (bytes.byteLength > keyEntryBytesMax) throw refused(`it has ${bytes.byteLength} bytes`);
  const value = decode(bytes);
  if (!(value instanceof Map)) throw refused("it is not a map");
  const found = intField(value, "v");
  if (found === undefined) throw refused("it has no version");
  if (found !== version) throw otherVersion("an entry of the cluster's minion keys", found, version, { id });
  if (textField(value, "id") !== id) throw refused("it is of another id");
  const by = textField(value, "by");
  const texts = mapField(value, "keys");
  if (by === undefined || texts === undefined) throw refused("it lacks a field");
  const keys: Partial<Record<KeyState, string>> = {};
  for (const state of keyStates) {
    const text = textField(texts, state);
    if (text === undefined && texts.has(state)) throw refused("a key of it is not text");
    if (text !== undefined) keys[state] = text;
  }
  if (digestOf(keys) === noKeys) throw refused("it has no key");
  return { id, by, keys };
}

function refused(reason: string): SaltworksError {
  return new SaltworksError("CLUSTER_REFUSED", `not an entry of this version: ${reason}`);
}
