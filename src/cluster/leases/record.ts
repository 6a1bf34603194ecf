/** What the bucket of leases holds: each member's lease, the parts of batch jobs' logs, and the jobs that wait for absent minions. Pure but for the seal. */
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { openRecord, sealRecord } from "../secrets/record.ts";

/** A member's process. A member that was started again is another owner. */
export type Owner = { readonly member: string; readonly session: string };

/** `isOver`: the process has stopped in order, so that others may take its jobs over at once. */
export type LeaseContent = { readonly session: string; readonly isOver: boolean };
/**
 * Bytes of a batch job's log from `offset` on. What a copy has beyond is void. `isClaim`: a new owner, which adds nothing yet. `sender`: the one of the
 * owner's that wrote it. `isGone`: a mark in the place of a part that was removed with its whole log.
 */
export type PartContent = {
  readonly owner: Owner;
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isClaim: boolean;
  readonly sender?: string;
  readonly isGone?: boolean;
};
/** `marks`: one byte for each minion of the job. */
export type StateContent = { readonly owner: Owner; readonly marks: Uint8Array };
/** `packed`: the job. It never changes. */
export type WaitingContent = { readonly packed: Uint8Array };

export type LeaseKey =
  | { readonly kind: "lease"; readonly member: string }
  | { readonly kind: "part"; readonly jid: string; readonly number: number }
  | { readonly kind: "record" | "state"; readonly jid: string };

/** Names of members and job ids of operators may have any letters. */
export const encodeName = (name: string) => Buffer.from(name, "utf8").toString("base64url");
const decodeName = (text: string) => Buffer.from(text, "base64url").toString("utf8");

const leases = "lease";
const parts = "batch";
const waiting = "waits";

export function leaseKeyText(key: LeaseKey): string {
  if (key.kind === "lease") return `${leases}.${encodeName(key.member)}`;
  if (key.kind === "part") return `${partsOf(key.jid)}${key.number}`;
  return `${waiting}.${encodeName(key.jid)}.${key.kind}`;
}

/** With what the keys of a batch job's parts begin. */
export function partsOf(jid: string): string {
  return `${parts}.${encodeName(jid)}.`;
}

/** @returns undefined for a key of another release */
export function readLeaseKey(text: string): LeaseKey | undefined {
  const [first, name, last] = text.split(".");
  if (name === undefined) return undefined;
  if (first === leases) return { kind: "lease", member: decodeName(name) };
  const jid = decodeName(name);
  if (first === parts && /^\d+$/.test(last ?? "")) return { kind: "part", jid, number: Number(last) };
  if (first === waiting && (last === "record" || last === "state")) return { kind: last, jid };
  return undefined;
}

export function sealLease(box: SecretBox, key: LeaseKey, content: object): Buffer {
  return sealRecord(box, leaseKeyText(key), content);
}

/** @throws SaltworksError CLUSTER_REFUSED for another secret, changed bytes or another version */
export function openLease<Content extends object>(box: SecretBox, key: LeaseKey, sealed: Uint8Array): Content {
  return openRecord<Content>(box, leaseKeyText(key), sealed);
}

export function isSameOwner(one: Owner, other: Owner): boolean {
  return one.member === other.member && one.session === other.session;
}
