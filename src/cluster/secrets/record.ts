/** Sealed records of the bucket `secrets`: MessagePack with a version, sealed under the cluster's key, so that NATS holds nothing readable. */
import { pack, unpack } from "msgpackr";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { otherVersion } from "../other-version.ts";

/** Of every record here. A member refuses a record of another version. */
const version = 1;

export function sealRecord(box: SecretBox, name: string, content: object): Buffer {
  return box.seal(name, pack({ v: version, ...content }));
}

/** @throws SaltworksError CLUSTER_REFUSED for another secret, changed bytes or another version */
export function openRecord<Content extends object>(box: SecretBox, name: string, sealed: Uint8Array): Content {
  let plain: Buffer;
  try {
    plain = box.open(name, sealed);
  } catch (cause) {
    if (!hasCode(cause, "STORE_SEAL_BROKEN")) throw cause;
    const message = `the cluster's record ${name} does not open: another member has another cluster_secret, or the record is damaged`;
    throw new SaltworksError("CLUSTER_REFUSED", message, { name }, { cause });
  }
  const record = unpack(plain) as Content & { readonly v: number };
  if (record.v === version) return record;
  throw otherVersion(`the cluster's record ${name}`, Number(record.v), version, { name });
}
