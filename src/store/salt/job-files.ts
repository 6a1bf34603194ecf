/**
 * Salt's on-disk job layout: which files a job has, what stands in them, and how to make them from our records.
 * Source: docs/protocol.md section 11.4; byte-exact with test/vectors/jobcache.json.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { decode, encode } from "../../wire/msgpack.ts";
import { Packed } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";

export const jidFile = "jid";
export const loadFile = ".load.p";
export const minionsFile = ".minions.p";
/** Lists that lower masters sent: `.minions.<syndic>.p`. */
export const anyMinionsFile = /^\.minions(?:\..+)?\.p$/;
export const returnFile = "return.p";
export const outFile = "out.p";
/** Its presence says that returns of this job are not to be stored. */
export const noCacheFile = "nocache";
export const endTimeFile = "endtime";

/** What `return.p` keeps of a return, in Salt's order. */
const returnKeys = ["return", "retcode", "success"] as const;

export function jobsDirectory(cachedir: string): string {
  return join(cachedir, "jobs");
}

/** `<cachedir>/jobs/<2 hex digits>/<the rest>`, of the hash of the job id. */
export function jobDirectory(cachedir: string, hashType: string, jid: string): string {
  const hash = createHash(hashType).update(jid, "utf8").digest("hex");
  return join(jobsDirectory(cachedir), hash.slice(0, 2), hash.slice(2));
}

export type ReturnFiles = { readonly returned: Buffer; readonly out: Buffer | undefined };

/** The files of one return, cut out of its body without decoding it. @throws SaltworksError WIRE_MALFORMED if it is not a map */
export function returnFilesOf(body: Uint8Array): ReturnFiles {
  const entries = new Map(mapEntries(body).map((entry) => [entry.key, entry]));
  const parts: Uint8Array[] = [];
  for (const key of returnKeys) {
    const entry = entries.get(key);
    if (entry !== undefined) parts.push(body.subarray(entry.keyStart, entry.valueEnd));
  }
  const out = entries.get("out");
  return {
    // A map of at most three entries: one header byte.
    returned: Buffer.concat([Uint8Array.of(0x80 | parts.length), ...parts]),
    out: out === undefined ? undefined : Buffer.from(body.subarray(out.valueStart, out.valueEnd)),
  };
}

/** Puts a return load together from its files. Releases before 2018.3 stored a bare value: anything but a map with `return`. */
export function bodyFromFiles(jid: string, minionId: string, files: ReturnFiles): Buffer {
  const stored = decode(files.returned);
  const isWhole = stored instanceof Map && stored.has("return");
  const body = new Map(isWhole ? stored : [["return", stored]]);
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
