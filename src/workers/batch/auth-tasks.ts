/**
 * Packs decided authentications for their way from a shard worker to the RSA lane, and the replies for the way back.
 * A thread hop costs more than its contents, so a batch's tasks are one buffer, which the main thread passes on unread.
 */
import { pack, unpack } from "msgpackr";
import type { AuthBatch, AuthTask } from "../messages/batch.ts";
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

function rowOf({ version, nonce, encAlgorithm, sigAlgorithm, outcome }: AuthTask): Row {
  const head = [version, nonce ?? null, encAlgorithm, sigAlgorithm] as const;
  if ("ret" in outcome) return [...head, outcome.ret, "", "", null];
  return [...head, null, outcome.pub, outcome.session, outcome.token ?? null];
}

function taskOf([version, nonce, encAlgorithm, sigAlgorithm, verdict, pub, session, token]: Row): AuthTask {
  const outcome = verdict === null ? { pub, session, token: token ?? undefined } : { ret: verdict };
  return { version, nonce: nonce ?? undefined, encAlgorithm, sigAlgorithm, outcome };
}

/** `items[i]` is the index in its batch of the request that `tasks[i]` answers. */
export function packAuthTasks(items: readonly number[], tasks: readonly AuthTask[]): AuthBatch {
  // Copied, because the packer uses its larger buffer again.
  return { items: Uint16Array.from(items), tasks: Uint8Array.from(pack(tasks.map(rowOf))).buffer };
}

export function unpackAuthTasks(tasks: ArrayBuffer): AuthTask[] {
  return (unpack(new Uint8Array(tasks)) as Row[]).map(taskOf);
}

/** An undefined reply could not be made. It takes no bytes. */
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
