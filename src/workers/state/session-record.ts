/** The stored form of a session key: packed, then sealed under a name that binds it to its minion. */
import { pack, unpack } from "msgpackr";
import { cleanPem, fingerprint } from "../../crypto/pem.ts";
import { SaltworksError } from "../../errors.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";

/** `minionKey`: fingerprint of the public key under which the minion got the session. Records of earlier releases lack it. */
export type SessionRecord = {
  readonly keyString: string;
  readonly createdMs: number;
  readonly minionKey?: string | undefined;
};

/** The `minionKey` of a public key. */
export function sessionKeyName(pem: string): string {
  return fingerprint(cleanPem(pem));
}

/** The name binds the record to its id: a copy under another id does not open. */
function nameOf(id: string): string {
  return `session/${id}`;
}

export function sealSession(box: SecretBox, id: string, { keyString, createdMs, minionKey }: SessionRecord): Buffer {
  return box.seal(nameOf(id), pack({ keyString, createdMs, ...(minionKey === undefined ? {} : { minionKey }) }));
}

/** @returns undefined if the seal does not open, as under another master key. @throws SaltworksError from the box for any other fault */
export function openSession(box: SecretBox, id: string, sealed: Uint8Array): SessionRecord | undefined {
  try {
    return unpack(box.open(nameOf(id), sealed)) as SessionRecord;
  } catch (error) {
    if (error instanceof SaltworksError && error.code === "STORE_SEAL_BROKEN") return undefined;
    throw error;
  }
}
