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
  readonly #notes = new Map<string, { readonly notedMs: number; readonly atMs: number }>();

  note(ids: Iterable<string>, nowMs: number): void {
    for (const id of ids) this.#notes.set(id, { notedMs: nowMs, atMs: nowMs + deliveryUnansweredMs });
  }

  /** Notes a job's sending. Each wait is twice the one before, so that a minion whose return is lost does not use up its tries while it is connected. */
  noteSent(job: Pick<PendingJob, "tries">, ids: readonly string[], nowMs: number): void {
    for (const id of ids) {
      const atMs = nowMs + deliveryUnansweredMs * 2 ** Math.max(0, job.tries(id) - 1);
      // Another job that was just sent to it has a wait of its own.
      const { atMs: othersMs = 0 } = this.#notes.get(id) ?? {};
      this.#notes.set(id, { notedMs: nowMs, atMs: othersMs > nowMs ? Math.min(othersMs, atMs) : atMs });
    }
  }

  /** What was noted before the job was kept says nothing of it. */
  isTime(id: string, { keptMs }: Pick<PendingJob, "keptMs">, nowMs: number): boolean {
    const noted = this.#notes.get(id);
    return noted !== undefined && noted.notedMs >= keptMs && noted.atMs <= nowMs;
  }

  delete(id: string): void {
    this.#notes.delete(id);
  }

  clear(): void {
    this.#notes.clear();
  }
}
