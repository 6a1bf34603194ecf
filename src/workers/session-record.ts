/** A session key as it is stored, sealed: u64 big-endian milliseconds of its making, then the key string. */
import { SaltworksError } from "../errors.ts";
import type { SecretBox } from "../store/sealed.ts";

const headBytes = 8;

export type SessionRecord = { readonly keyString: string; readonly createdMs: number };

/** The record's name binds it to its minion: a record copied to another id does not open. */
function nameOf(id: string): string {
  return `session/${id}`;
}

export function sealSession(box: SecretBox, id: string, session: SessionRecord): Buffer {
  const record = Buffer.alloc(headBytes + session.keyString.length);
  record.writeBigUInt64BE(BigInt(Math.floor(session.createdMs)), 0);
  record.write(session.keyString, headBytes, "latin1");
  return box.seal(nameOf(id), record);
}

/** @returns undefined for a record under another master key: that session is over. @throws SaltworksError from the box for anything else */
export function openSession(box: SecretBox, id: string, sealed: Uint8Array): SessionRecord | undefined {
  try {
    const record = Buffer.from(box.open(nameOf(id), sealed));
    return { keyString: record.toString("latin1", headBytes), createdMs: Number(record.readBigUInt64BE(0)) };
  } catch (error) {
    if (error instanceof SaltworksError && error.code === "STORE_SEAL_BROKEN") return undefined;
    throw error;
  }
}
