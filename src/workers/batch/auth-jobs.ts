/**
 * Decided authentications on their way from a shard worker through the main thread to the RSA lane, and the replies on their way back.
 * A hop costs more than what it carries, so a batch's jobs are one buffer, which the main thread passes on without looking inside.
 */
import { pack, unpack } from "msgpackr";
import type { AuthBatch, AuthJob } from "../messages/batch.ts";
import type { AuthReplies } from "../messages/lanes.ts";

type Row = readonly [
  version: number,
  nonce: string | null,
  encAlgorithm: string,
  sigAlgorithm: string,
  verdict: boolean | "full" | null,
  pub: string,
  session: string,
  token: Uint8Array | null,
];

function rowOf({ version, nonce, encAlgorithm, sigAlgorithm, outcome }: AuthJob): Row {
  const head = [version, nonce ?? null, encAlgorithm, sigAlgorithm] as const;
  if ("ret" in outcome) return [...head, outcome.ret, "", "", null];
  return [...head, null, outcome.pub, outcome.session, outcome.token ?? null];
}

function jobOf([version, nonce, encAlgorithm, sigAlgorithm, verdict, pub, session, token]: Row): AuthJob {
  const outcome = verdict === null ? { pub, session, token: token ?? undefined } : { ret: verdict };
  return { version, nonce: nonce ?? undefined, encAlgorithm, sigAlgorithm, outcome };
}

/** `items[i]` is the index in its batch of the request that `jobs[i]` answers. */
export function packAuthJobs(items: readonly number[], jobs: readonly AuthJob[]): AuthBatch {
  // Copied, because the packer's own buffer is larger and used again.
  return { items: Uint16Array.from(items), jobs: Uint8Array.from(pack(jobs.map(rowOf))).buffer };
}

export function unpackAuthJobs(jobs: ArrayBuffer): AuthJob[] {
  return (unpack(new Uint8Array(jobs)) as Row[]).map(jobOf);
}

/** A reply that could not be made is undefined, and has no bytes. */
export function packReplies(replies: readonly (Uint8Array | undefined)[]): AuthReplies {
  let total = 0;
  const ends = Uint32Array.from(replies, (reply) => {
    total += reply?.byteLength ?? 0;
    return total;
  });
  const bytes = new Uint8Array(total);
  for (const [index, reply] of replies.entries()) if (reply !== undefined) bytes.set(reply, ends[index - 1] ?? 0);
  return { bytes, ends };
}
