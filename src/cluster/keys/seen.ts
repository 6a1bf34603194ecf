/** An entry of the bucket as the watch delivered it, beside the files that it is compared with. Pure. */
import type { BucketEntry } from "../watched-bucket.ts";
import { decodeEntry, digestOf, type KeySet, noKeys } from "./entry.ts";

/** The newest entry of an id that the watch delivered, until the id is in step with it. */
export type Seen = {
  readonly revision: number;
  readonly digest: string;
  readonly keys: KeySet;
  /** Empty for a deletion, which names no member. */
  readonly by: string;
  /** The bucket has nothing of the id, not even the mark of its deletion. */
  readonly isAbsent?: true;
};
/** `isUnusable`: a file is empty or too large, and stays so. */
export type Local = { readonly keys: KeySet; readonly digest: string; readonly isUnusable: boolean };

/** @throws what `decodeEntry` throws */
export function seenOf(id: string, { revision, value }: Omit<BucketEntry, "key">): Seen {
  if (value === undefined) return { revision, digest: noKeys, keys: {}, by: "" };
  const { keys, by } = decodeEntry(id, value);
  return { revision, digest: digestOf(keys), keys, by };
}

/** The record has the id with `revision`, and the bucket nothing: it was deleted there so long ago that the mark of it is gone, too. */
export function absentSince(revision: number): Seen {
  return { revision: revision + 1, digest: noKeys, keys: {}, by: "", isAbsent: true };
}
