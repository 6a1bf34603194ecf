/**
 * One publish in a cluster's sequence of jobs: what every member needs to send it to its minions, and to know the job. The names of the minions are
 * left out of a job with very many: each member then matches the target itself, which gives the same because members share the accepted keys. Pure.
 */
import { SaltworksError } from "../../errors.ts";
import { jobNamesBytesMax, jobRecordBytesMax } from "../../limits.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { TextList } from "../../wire/text-list.ts";
import type { Encodable, Value } from "../../wire/values.ts";

/**
 * `job`: stored, announced and tracked by all members. `question`: a find_job, stored and announced, but not tracked. `again`: a known job for some of
 * its minions. `ping`: for a sign of life. The last two are sent, and nothing else.
 */
export const jobKinds = ["job", "question", "again", "ping"] as const;
export type JobKind = (typeof jobKinds)[number];

/** `target` is in stored form; `fields` has the form for minions. `minions`: undefined if each member finds them itself. */
export type SharedJob = {
  readonly kind: JobKind;
  readonly jid: string;
  /** The operator chose the id, so that a job with the same id may be there. */
  readonly isChosenId: boolean;
  readonly target: string | readonly string[];
  readonly targetKind: string;
  readonly delimiter: string;
  /** All that the minions get, without the serial. */
  readonly fields: ReadonlyMap<Encodable, Encodable>;
  readonly minions: TextList | undefined;
  readonly missing: readonly string[];
  /** The load for the job cache, packed; undefined for a job that is not stored. */
  readonly load: Uint8Array | undefined;
  /** The client asked not to keep returns. */
  readonly isReturnless: boolean;
};

/** `serial`: the place in the sequence, which is the serial of the publish. `atMs`: when `member` published it, by its clock. */
export type ReceivedJob = Omit<SharedJob, "fields" | "isChosenId"> & {
  readonly fields: Map<Value, Value>;
  readonly serial: number;
  readonly member: string;
  readonly atMs: number;
};

/** The first byte. A member skips jobs of another form, and says so. */
const formVersion = 1;

/** @throws SaltworksError WIRE_TOO_LARGE */
export function encodeJob(job: SharedJob, member: string, atMs: number): Uint8Array {
  const fields = encode(job.fields, "bin");
  const names = job.minions && Buffer.concat(job.minions.packed.pieces);
  const isNaming = names !== undefined && names.byteLength <= jobNamesBytesMax;
  const body = encode(
    [
      ...[member, atMs, job.kind, job.jid, job.targetKind, job.delimiter, job.isReturnless],
      encode(job.target, "bin"),
      fields,
      isNaming ? names : null,
      isNaming ? (job.minions?.count ?? 0) : 0,
      encode(job.missing, "bin"),
      job.load ?? null,
    ],
    "bin",
  );
  if (body.byteLength > jobRecordBytesMax) {
    const max = jobRecordBytesMax;
    throw new SaltworksError("WIRE_TOO_LARGE", `the job is too large for the cluster: ${body.byteLength} bytes`, {
      max,
    });
  }
  return Buffer.concat([Uint8Array.of(formVersion), body]);
}

/** @throws SaltworksError CLUSTER_REFUSED for another form, WIRE_MALFORMED for bytes that are not a job; errors of `decode` */
export function decodeJob(bytes: Uint8Array, serial: number): ReceivedJob {
  const [version] = bytes;
  if (version !== undefined && version !== formVersion) {
    const text = `it has version ${version}, and this member reads version ${formVersion}`;
    throw new SaltworksError("CLUSTER_REFUSED", text, { version, known: formVersion });
  }
  const parts = version === undefined ? undefined : decode(bytes.subarray(1));
  if (!Array.isArray(parts)) throw new SaltworksError("WIRE_MALFORMED", "a job of the cluster has an unknown form");
  const [member, atMs, kind, jid, targetKind, delimiter, isReturnless, target, fields, names, count, missing, load] =
    parts;
  const fieldMap = fields instanceof Uint8Array ? decode(fields) : undefined;
  const knownKind = jobKinds.find((one) => one === kind);
  if (!(fieldMap instanceof Map) || knownKind === undefined)
    throw new SaltworksError("WIRE_MALFORMED", "a job of the cluster has an unknown form");
  return {
    ...{ serial, member: String(member), atMs: Number(atMs), kind: knownKind, jid: String(jid) },
    ...{ targetKind: String(targetKind), delimiter: String(delimiter), isReturnless: isReturnless === true },
    target: decode(target as Uint8Array) as string | string[],
    fields: fieldMap,
    // Copies: what is handed to a worker takes its whole buffer along.
    minions: names instanceof Uint8Array ? TextList.ofPacked(Number(count), names.slice()) : undefined,
    missing: decode(missing as Uint8Array) as string[],
    load: load instanceof Uint8Array ? load.slice() : undefined,
  };
}
