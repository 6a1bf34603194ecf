/** Seals a reply that other threads have made for a minion of this worker, under its session key or, for older requests, the master's key. */
import { setImmediate as turn } from "node:timers/promises";
import { ByteWriter } from "../../wire/byte-writer.ts";
import { badLoad, beginRawReply } from "../../wire/reply.ts";
import type { Shard } from "../holding/shard.ts";
import type { ShardTask } from "../messages/shard.ts";
import { transferring } from "../threads/pool.ts";

/** Seals a large reply in steps, so that batches come in between. @returns the whole reply; `badLoad` if the minion's key went meanwhile, so that it authenticates */
export async function sealReply(
  shard: Pick<Shard, "session" | "masterCrypticle">,
  { id, seal, parts }: Extract<ShardTask, { kind: "sealReply" }>,
): Promise<Uint8Array> {
  const crypticle = seal.key === "session" ? shard.session(id)?.crypticle : shard.masterCrypticle(seal.key);
  if (crypticle === undefined) return badLoad;
  const sealed = await crypticle.sealInSteps(Buffer.concat(parts), seal.nonce, () => turn());
  const frame = new ByteWriter();
  const start = beginRawReply(frame, sealed.length);
  frame.bytes.set(sealed, start);
  const reply = new Uint8Array(frame.bytes.buffer as ArrayBuffer, 0, frame.length);
  return transferring(reply, reply.buffer);
}
