/** Chooses the key and the nonce for the seal of a reply that another thread makes. */

import type { ReplySeal } from "../messages/deferred.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Opened } from "./context.ts";

export function replySeal(worker: Pick<WorkerState, "former">, { version, sealer, replyNonce }: Opened): ReplySeal {
  if (version >= 3) return { key: "session", nonce: replyNonce };
  return { key: sealer === worker.former?.crypticle ? "former" : "current", nonce: replyNonce };
}
