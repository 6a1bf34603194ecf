/**
 * Seals what members write into an operator's own NATS, where others than members may be. The servers that members start take members only, and their
 * records go unsealed. Source: the seal of src/store/secrets/sealed.ts, under the cluster's key.
 */
import { createHmac, hkdfSync } from "node:crypto";
import { hasCode, SaltworksError } from "../errors.ts";
import { secretBoxWith } from "../store/secrets/sealed.ts";

/** The kinds of records, so that no record passes for one of another kind. */
type RecordKind = "jobs" | "keys" | "returns";

export type RecordSeal = {
  /** @param name within the kind, of what the record is about */
  readonly seal: (kind: RecordKind, name: string, plain: Uint8Array) => Buffer;
  /** @throws SaltworksError WIRE_MALFORMED for bytes that no member with the same secret sealed under this name */
  readonly open: (kind: RecordKind, name: string, sealed: Uint8Array) => Buffer;
  /** Names bytes: the same bytes have the same name each time, and it tells others nothing of them. */
  readonly nameOf: (plain: Uint8Array) => string;
};

/** Bytes that a seal adds, at most. */
export const sealRoomBytes = 64;
const nameKeyBytes = 32;

export function recordSeal(sealKey: Uint8Array): RecordSeal {
  const box = secretBoxWith(sealKey);
  const nameKey = Buffer.from(hkdfSync("sha256", sealKey, "", "saltworks cluster record names 1", nameKeyBytes));
  const boxName = (kind: RecordKind, name: string) => `record/${kind}/${name}`;
  return {
    seal: (kind, name, plain) => box.seal(boxName(kind, name), plain),
    open: (kind, name, sealed) => {
      try {
        return box.open(boxName(kind, name), sealed);
      } catch (cause) {
        if (!hasCode(cause, "STORE_SEAL_BROKEN")) throw cause;
        const text = "a record in NATS is not sealed under this member's cluster_secret";
        throw new SaltworksError("WIRE_MALFORMED", text, { kind }, { cause });
      }
    },
    nameOf: (plain) => createHmac("sha256", nameKey).update(plain).digest("base64url"),
  };
}
