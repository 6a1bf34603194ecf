/** A session key as it is stored: packed, then sealed under a name that binds it to its minion. */
import { pack, unpack } from "msgpackr";
import { cleanPem, fingerprint } from "../../crypto/pem.ts";
import { SaltworksError } from "../../errors.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";

/** `minionKey`: fingerprint of the public key that it was given to; earlier releases did not note it. */
export type SessionRecord = {
  readonly keyString: string;
  readonly createdMs: number;
  readonly minionKey?: string | undefined;
};

/** What stands for a minion's key in its session's record. */
export function sessionKeyName(pem: string): string {
  return fingerprint(cleanPem(pem));
}

/** A record that is copied to another id does not open. */
function nameOf(id: string): string {
  return `session/${id}`;
}

export function sealSession(box: SecretBox, id: string, { keyString, createdMs, minionKey }: SessionRecord): Buffer {
  return box.seal(nameOf(id), pack({ keyString, createdMs, ...(minionKey === undefined ? {} : { minionKey }) }));
}

/** @returns undefined for a record under another master key: that session is over. @throws SaltworksError from the box for anything else */
export function openSession(box: SecretBox, id: string, sealed: Uint8Array): SessionRecord | undefined {
  try {
    return unpack(box.open(nameOf(id), sealed)) as SessionRecord;
  } catch (error) {
    if (error instanceof SaltworksError && error.code === "STORE_SEAL_BROKEN") return undefined;
    throw error;
  }
}
