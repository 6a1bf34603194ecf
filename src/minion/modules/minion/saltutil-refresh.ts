/** Waits until the running minion reports on its bus that it has refreshed its pillar. */
import type { MinionConfig } from "../../../config/load.ts";
import { hasCode } from "../../../errors.ts";
import { EventSubscriber } from "../../../transport/event-stream-client.ts";
import { splitEvent } from "../../../wire/event.ts";
import { busPaths } from "../../bus/fire.ts";

const completeTag = "/salt/minion/minion_pillar_refresh_complete";

/** @returns false after `timeoutMs`, or if no minion runs */
export async function awaitPillarRefresh(
  config: MinionConfig,
  fire: () => Promise<void>,
  timeoutMs: number,
): Promise<boolean> {
  let settle: (isComplete: boolean) => void = () => undefined;
  const completion = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  let subscriber: EventSubscriber;
  try {
    subscriber = await EventSubscriber.connect(busPaths(config).pub, {
      onEvent: (body) => {
        if (splitEvent(body).tag === completeTag) settle(true);
      },
      onClose: () => settle(false),
    });
  } catch (error) {
    if (hasCode(error, "MASTER_UNREACHABLE")) return false;
    throw error;
  }
  const deadline = setTimeout(() => settle(false), timeoutMs);
  try {
    await fire();
    return await completion;
  } finally {
    clearTimeout(deadline);
    subscriber.close();
  }
}
