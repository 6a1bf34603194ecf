/** When minions that lack a waiting job are asked about it. */
import { deliveryBatchMax, deliveryUnansweredMs } from "../../limits.ts";
import type { PendingJob } from "./pending-job.ts";

/** When a minion that has come back is asked, and how often until it answers. */
export type Due = { readonly atMs: number; readonly asksLeft: number };
export type Round = { readonly job: PendingJob; readonly ids: readonly string[]; readonly asksLeft: number };

/** Takes up to `deliveryBatchMax` minions whose time has come. @returns them by the asks that they have left */
export function takeReady(due: Map<string, Due>, nowMs: number): ReadonlyMap<number, string[]> {
  const ready = new Map<number, string[]>();
  let count = 0;
  for (const [id, { atMs, asksLeft }] of due) {
    if (atMs > nowMs) continue;
    if (count >= deliveryBatchMax) break;
    count += 1;
    due.delete(id);
    const alike = ready.get(asksLeft);
    if (alike === undefined) ready.set(asksLeft, [id]);
    else alike.push(id);
  }
  return ready;
}

/** Minions that did not answer, or do not return a job that was sent to them. One that stays connected does not come back, so that it counts as coming back after some time. */
export class SilentMinions {
  readonly #atMs = new Map<string, number>();

  note(ids: Iterable<string>, nowMs: number): void {
    for (const id of ids) this.#atMs.set(id, nowMs + deliveryUnansweredMs);
  }

  isTime(id: string, nowMs: number): boolean {
    return (this.#atMs.get(id) ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  delete(id: string): void {
    this.#atMs.delete(id);
  }

  clear(): void {
    this.#atMs.clear();
  }
}
