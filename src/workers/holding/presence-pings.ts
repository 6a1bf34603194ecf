/** Which jobs are pings of presence: the list that the main thread and every worker keep alike. */
import type { ShardStart } from "../messages/shard.ts";

const presencePingsMax = 16;

/** Keeps the latest pings only. The main thread keeps the same list for workers that start later. */
export function keepPresencePing(start: ShardStart, jid: string): void {
  start.presencePings.push(jid);
  if (start.presencePings.length > presencePingsMax) start.presencePings.shift();
}
