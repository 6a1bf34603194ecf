/** Puts all returns and minions of our store into a new queue, the newest returns first, so that Salt's files become complete. */
import { saltMirrorAtOnce, saltReturnsWaitingMax } from "../../limits.ts";
import type { KeyedReturns } from "../jobs/keyed-returns.ts";
import type { MinionData } from "../minions/data.ts";
import type { MirrorQueue } from "./mirror-queue.ts";

export type FillOptions = {
  readonly queue: MirrorQueue;
  readonly returns: Pick<KeyedReturns, "newest">;
  readonly minions: Pick<MinionData, "ids" | "mineIds">;
};

/** Fills a queue once. A run that was interrupted starts again. @returns the number of returns and minions that were added */
export async function fillMirrorQueue({ queue, returns, minions }: FillOptions): Promise<number> {
  if (queue.isFilled) return 0;
  const ids = [...new Set([...minions.ids(), ...minions.mineIds()])];
  for (let at = 0; at < ids.length; at += saltMirrorAtOnce) queue.addMinions(ids.slice(at, at + saltMirrorAtOnce));
  let count = ids.length;
  for await (const keys of returns.newest({ limit: saltReturnsWaitingMax, atOnce: saltMirrorAtOnce })) {
    queue.addReturns(keys);
    count += keys.length;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  queue.markFilled();
  return count;
}
