/**
 * Salt's layout of jobs on disk (`local_cache`): names and contents of a job's files, and their making from our records.
 * Source: docs/protocol.md section 11.4; byte-exact with test/vectors/jobcache.json.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { decode, encode } from "../../wire/msgpack.ts";
import { Packed, type Value } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";

/** `hashType`: the hash that names the directories of jobs. */
export type LocalCacheOptions = { readonly cachedir: string; readonly hashType: string };

export const jidFile = "jid";
export const loadFile = ".load.p";
export const minionsFile = ".minions.p";
/** The list that a lower master sent. */
export const minionsFileOf = (syndic: string): string => `.minions.${syndic}.p`;
/** Also matches lists that lower masters sent. */
export const anyMinionsFile = /^\.minions(?:\..+)?\.p$/;
export const returnFile = "return.p";
export const outFile = "out.p";
/** If this file exists, returns of the job are not stored. */
export const noCacheFile = "nocache";
export const endTimeFile = "endtime";

/** The keys of a return in `return.p`, in Salt's order. */
const returnKeys = ["return", "retcode", "success"] as const;

export function jobsDirectory(cachedir: string): string {
  return join(cachedir, "jobs");
}

/** `<cachedir>/jobs/<2 hex digits>/<the rest>`: the hex digits are the hash of the job id. */
export function jobDirectory(cachedir: string, hashType: string, jid: string): string {
  const hash = createHash(hashType).update(jid, "utf8").digest("hex");
  return join(jobsDirectory(cachedir), hash.slice(0, 2), hash.slice(2));
}

export type ReturnFiles = { readonly returned: Buffer; readonly out: Buffer | undefined };

/** Makes the files of one return from pieces of its body, without decoding it. @throws SaltworksError WIRE_MALFORMED if it is not a map */
export function returnFilesOf(body: Uint8Array): ReturnFiles {
  const entries = new Map(mapEntries(body).map((entry) => [entry.key, entry]));
  const parts: Uint8Array[] = [];
  for (const key of returnKeys) {
    const entry = entries.get(key);
    if (entry !== undefined) parts.push(body.subarray(entry.keyStart, entry.valueEnd));
  }
  const out = entries.get("out");
  return {
    // The map has at most three entries, so its head is one byte.
    returned: Buffer.concat([Uint8Array.of(0x80 | parts.length), ...parts]),
    out: out === undefined ? undefined : Buffer.from(body.subarray(out.valueStart, out.valueEnd)),
  };
}

/**
 * Makes a return's body from its files. Salt before 2018.3 stored the bare value: anything but a map with `return`. `known`: members that the files
 * do not have.
 */
export function bodyFromFiles(
  jid: string,
  minionId: string,
  files: ReturnFiles,
  known: ReadonlyMap<string, Value> = new Map(),
): Buffer {
  const stored = decode(files.returned);
  const isWhole = stored instanceof Map && stored.has("return");
  const body = new Map(isWhole ? stored : [["return", stored]]);
  for (const [key, value] of known) if (!body.has(key)) body.set(key, value);
  body.set("jid", jid);
  body.set("id", minionId);
  if (files.out !== undefined) body.set("out", decode(files.out));
  return encode(body, "bin");
}

export function encodeMinions(minionIds: readonly string[] | Packed): Uint8Array {
  return minionIds instanceof Packed ? Buffer.concat(minionIds.pieces) : encode(minionIds, "bin");
}

export function decodeMinions(bytes: Uint8Array): string[] {
  const list = decode(bytes);
  return Array.isArray(list) ? list.filter((id): id is string => typeof id === "string") : [];
}
