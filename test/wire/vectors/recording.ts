/** The state of a recording: its keys, the issued sessions, the requests that wait for a reply. */
import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { Crypticle } from "../../../src/crypto/crypticle.ts";
import { cleanPem, loadPrivateKey, loadPublicKey } from "../../../src/crypto/pem.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { type JsonMap, toPlainView } from "./view.ts";

export type MinionKeys = { priv: KeyObject; pub: KeyObject | undefined };

/** The state at one point in time. */
export type Recording = {
  readonly master: { priv: KeyObject; pub: KeyObject; pubText: string; signPub: KeyObject | undefined };
  readonly minions: ReadonlyMap<string, MinionKeys>;
  readonly aes: readonly string[];
  /** The latest session key of each id. */
  readonly sessions: Map<string, string>;
  /** The latest request of each connection, which the next reply on it answers. */
  readonly requests: Map<string, JsonMap>;
};

export function openRecording(meta: JsonMap): Recording {
  const keys = meta.keys as {
    master: Record<string, string>;
    minions: Record<string, Record<string, string>>;
    aes: string[];
  };
  const { private_pem: privatePem = "", public_pem: publicPem = "", sign_public_pem: signPem } = keys.master;
  const minions = Object.entries(keys.minions).map(([id, texts]): [string, MinionKeys] => {
    const pub = texts.public_pem === undefined ? undefined : loadPublicKey(texts.public_pem);
    return [id, { priv: loadPrivateKey(texts.private_pem ?? ""), pub }];
  });
  return {
    master: {
      priv: loadPrivateKey(privatePem),
      pub: loadPublicKey(publicPem),
      pubText: cleanPem(publicPem),
      signPub: signPem === undefined ? undefined : loadPublicKey(signPem),
    },
    minions: new Map(minions),
    aes: keys.aes,
    sessions: new Map(),
    requests: new Map(),
  };
}

/** The key string that `decrypt` names: `aes[i]` or `session[id]`. */
export function keyStringOf(recording: Recording, decrypt: unknown): string {
  const [, kind, name = ""] = /^(aes|session)\[(.+)\]$/.exec(String(decrypt)) ?? [];
  const keyString = kind === "aes" ? recording.aes[Number(name)] : recording.sessions.get(name);
  assert.ok(keyString, `key for ${String(decrypt)}`);
  return keyString;
}

/** Opens the frame, compares the value with the recorded view, and seals it again to the same bytes. */
export function checkSealed(
  keyString: string,
  token: Uint8Array,
  nonce: string | undefined,
  plain: unknown,
): Uint8Array {
  const crypticle = new Crypticle(keyString);
  const packed = crypticle.open(token, nonce);
  const value = decode(packed);
  assert.deepEqual(toPlainView(value), plain);
  assert.deepEqual(encode(value, "raw"), Buffer.from(packed), "load written again");
  assert.deepEqual(crypticle.seal(packed, nonce, token.subarray(0, 16)), Buffer.from(token), "sealed again");
  return packed;
}
