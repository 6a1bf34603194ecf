/** The key and nonce that seal a reply which another thread makes. */
import type { Shard } from "../holding/shard.ts";
import type { ReplySeal } from "../messages/deferred.ts";
import type { Opened } from "./context.ts";

export function replySeal(shard: Pick<Shard, "former">, { version, sealer, replyNonce }: Opened): ReplySeal {
  if (version >= 3) return { key: "session", nonce: replyNonce };
  return { key: sealer === shard.former?.crypticle ? "former" : "current", nonce: replyNonce };
}
