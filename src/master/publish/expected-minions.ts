/** Finds the minions that a job waits for. Every worker matches the target against its own partitions, and the packed lists are joined. */

import { setTimeout as delay } from "node:timers/promises";
import { SaltworksError } from "../../errors.ts";
import { matchPollMs, matchWaitMsMax } from "../../limits.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { encode } from "../../wire/msgpack.ts";
import { type PackedTexts, TextList } from "../../wire/text-list.ts";
import type { MatchAnswer, MatchTask, MineFindTask } from "../../workers/messages/worker.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";

/** @throws SaltworksError TARGET_INVALID if a worker refuses the target, TASK_TIMEOUT, or what the pool throws */
export async function expectedMinions(
  pool: WorkerPool,
  { target, targetKind, delimiter }: AskedTarget,
  isGreedy = true,
): Promise<TextList> {
  const task: MatchTask = { kind: "match", target: encode(target, "raw"), targetKind, delimiter, isGreedy };
  const slots = Array.from({ length: pool.slotCount }, async (_, slot): Promise<PackedTexts> => {
    const { count, ids } = await matchOn<Extract<MatchAnswer, { state: "ready" }>>(pool, slot, task);
    return { count, bytes: ids };
  });
  return TextList.joined(await Promise.all(slots));
}

/**
 * Asks one worker to match. Matching for a publish goes before returns; for the mine it does not. A worker that must build its index first answers
 * `pending` at once, and is asked again until it is ready.
 */
export async function matchOn<Ready extends { readonly state: "ready" }>(
  pool: WorkerPool,
  slot: number,
  task: MatchTask | MineFindTask,
): Promise<Ready> {
  const deadlineMs = performance.now() + matchWaitMsMax;
  const build = () => ({ task, transfer: [] });
  for (let waitMs: number = matchPollMs.first; ; waitMs = Math.min(waitMs * 2, matchPollMs.longest)) {
    const answer = await pool.offer<Ready | Exclude<MatchAnswer, { state: "ready" }>>(slot, {
      bytes: 0,
      isUrgent: task.kind === "match",
      build,
    });
    if (answer.state === "ready") return answer;
    if (answer.state === "refused")
      throw new SaltworksError("TARGET_INVALID", `target refused: ${answer.reason}`, { isRefused: true });
    if (performance.now() > deadlineMs) {
      throw new SaltworksError("TASK_TIMEOUT", "a target was not matched in time", { matchWaitMsMax });
    }
    await delay(waitMs);
  }
}
