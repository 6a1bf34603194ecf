/** The list of jobs that are presence pings. The main thread and every worker have the same list. */
import type { WorkerStart } from "../messages/worker.ts";

const presencePingsMax = 16;

/** Adds a ping and keeps the latest `presencePingsMax`. The main thread does the same, for workers that start later. */
export function keepPresencePing(start: WorkerStart, jid: string): void {
  start.presencePings.push(jid);
  if (start.presencePings.length > presencePingsMax) start.presencePings.shift();
}
