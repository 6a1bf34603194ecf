/**
 * Packs decided authentications that a worker sends to the RSA lane, and the lane's replies.
 * A thread hop costs more than its contents, so a batch's tasks are one buffer. The main thread passes it on unread.
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

/** `tasks[i]` answers the batch's request number `items[i]`. */
export function packAuthTasks(items: readonly number[], tasks: readonly AuthTask[]): AuthBatch {
  // The packer reuses its buffer, so the bytes are copied.
  return { items: Uint16Array.from(items), tasks: Uint8Array.from(pack(tasks.map(rowOf))).buffer };
}

export function unpackAuthTasks(tasks: ArrayBuffer): AuthTask[] {
  return (unpack(new Uint8Array(tasks)) as Row[]).map(taskOf);
}

/** `undefined` stands for a reply that the lane failed to make. It takes no bytes. */
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
