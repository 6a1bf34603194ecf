/** Bounds of deliveries: how many jobs and minions may wait, and how many publishes a second they may cost. */
import { SaltworksError } from "../../errors.ts";
import { deliveryPublishesPerSecondMax, pendingJobsMax, pendingMinionsMax } from "../../limits.ts";

/** @returns the refusal of a job for `added` minions; undefined if there is room */
export function noRoom(jobCount: number, minionCount: number, added: number): SaltworksError | undefined {
  const full =
    jobCount >= pendingJobsMax
      ? `${pendingJobsMax} jobs wait for minions already`
      : minionCount + added > pendingMinionsMax
        ? `jobs wait for ${minionCount} minions already, at most ${pendingMinionsMax} may`
        : undefined;
  if (full === undefined) return undefined;
  const detail = { pendingJobsMax, pendingMinionsMax };
  return new SaltworksError("QUEUE_FULL", `${full}; see jobs.pending and jobs.cancel`, detail);
}

export class PublishBudget {
  #left = 0;
  #earnedMs: number;

  constructor(nowMs: number) {
    this.#earnedMs = nowMs;
  }

  earn(nowMs: number): void {
    const earned = ((nowMs - this.#earnedMs) / 1_000) * deliveryPublishesPerSecondMax;
    this.#left = Math.min(deliveryPublishesPerSecondMax, this.#left + Math.max(0, earned));
    this.#earnedMs = nowMs;
  }

  /** @returns false if no round may begin now */
  takeRound(): boolean {
    if (this.#left < 1) return false;
    // Two publishes: find_job and the job itself.
    this.#left -= 2;
    return true;
  }
}
