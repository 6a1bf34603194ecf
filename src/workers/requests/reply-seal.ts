/** What seals the reply to a minion's request when somebody else than its handler answers it. */

import type { Shard } from "../holding/shard.ts";
import type { ReplySeal } from "../messages/deferred.ts";
import type { Opened } from "./context.ts";

export function replySeal(shard: Pick<Shard, "former">, { version, sealer, replyNonce }: Opened): ReplySeal {
  if (version >= 3) return { key: "session", nonce: replyNonce };
  return { key: sealer === shard.former?.crypticle ? "former" : "current", nonce: replyNonce };
}
