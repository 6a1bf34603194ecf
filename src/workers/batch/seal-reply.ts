/** Seals replies of other threads to this worker's minions: under the minion's session key or, for older requests, the master's key. */
import { setImmediate as turn } from "node:timers/promises";
import { ByteWriter } from "../../wire/byte-writer.ts";
import { badLoad, beginRawReply } from "../../wire/reply.ts";
import type { WorkerTask } from "../messages/worker.ts";
import type { WorkerState } from "../state/worker-state.ts";
import { transferring } from "../threads/worker-pool.ts";

/**
 * Seals a large reply in steps, so that batches run in between.
 *
 * @returns the whole reply; `badLoad` if the session or the master's key is no longer valid, so that the minion authenticates again
 */
export async function sealReply(
  worker: Pick<WorkerState, "session" | "masterCrypticle" | "fileAnswers">,
  { id, seal, parts, kept }: Extract<WorkerTask, { kind: "sealReply" }>,
): Promise<Uint8Array> {
  if (kept !== undefined) worker.fileAnswers.keep(kept, performance.now());
  const crypticle = seal.key === "session" ? worker.session(id)?.crypticle : worker.masterCrypticle(seal.key);
  if (crypticle === undefined) return badLoad;
  const sealed = await crypticle.sealInSteps(Buffer.concat(parts), seal.nonce, () => turn());
  const frame = new ByteWriter();
  const start = beginRawReply(frame, sealed.length);
  frame.bytes.set(sealed, start);
  const reply = new Uint8Array(frame.bytes.buffer as ArrayBuffer, 0, frame.length);
  return transferring(reply, reply.buffer);
}
