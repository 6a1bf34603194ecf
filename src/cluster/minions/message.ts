/** One message of the stream of minions' data: a part of one minion's data, sealed, because pillars hold secrets. Pure but for the seal's nonce. */
import { pack, unpack } from "msgpackr";
import { SaltworksError } from "../../errors.ts";
import type { ForgottenPart } from "../../store/minions/forgotten.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { bucketKeyOf, idOfBucketKey } from "../keys/entry.ts";

/** Of messages that this release writes and reads. */
export const messageVersion = 1;

/** `prefix`: the beginning of the stream's subjects. */
export function subjectOf(prefix: string, id: string, part: ForgottenPart): string {
  return `${prefix}.${part}.${bucketKeyOf(id)}`;
}

/** @returns undefined for a subject that `subjectOf` does not make */
export function subjectNames(
  prefix: string,
  subject: string,
): { readonly id: string; readonly part: ForgottenPart } | undefined {
  const [part = "", key = "", ...more] = subject.slice(prefix.length + 1).split(".");
  const id = idOfBucketKey(key);
  if (!subject.startsWith(`${prefix}.`) || (part !== "facts" && part !== "mine") || more.length > 0) return undefined;
  return id === undefined ? undefined : { id, part };
}

/** The subject is part of the seal, so that no minion's message passes for another's. `data`: undefined for a removal. */
export function sealPart(
  box: SecretBox,
  subject: string,
  data: Uint8Array | undefined,
  version = messageVersion,
): Buffer {
  return box.seal(subject, pack({ v: version, data }));
}

/**
 * @returns the message's version alone if it is not `version`
 * @throws SaltworksError CLUSTER_REFUSED for another secret or changed bytes
 */
export function openPart(
  box: SecretBox,
  subject: string,
  sealed: Uint8Array,
  version = messageVersion,
): { readonly data: Uint8Array | undefined } | { readonly otherVersion: number } {
  try {
    const { v, data } = unpack(box.open(subject, sealed)) as { readonly v?: unknown; readonly data?: unknown };
    if (typeof v === "number" && v !== version) return { otherVersion: v };
    if (v !== version) throw new Error("it has no version");
    if (data === undefined || data === null) return { data: undefined };
    if (!(data instanceof Uint8Array)) throw new Error("its data is not bytes");
    return { data };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SaltworksError("CLUSTER_REFUSED", `not a message with minions' data: ${reason}`, {}, { cause });
  }
}
