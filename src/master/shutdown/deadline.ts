/** Runs a step of the shutdown with a time limit, so that a step that hangs or fails does not keep the process from ending. */
import type { Logger } from "pino";
import { within } from "../../deadline.ts";

export async function finishWithin(
  deadlineMs: number,
  step: Promise<unknown>,
  warning: string,
  logger: Logger,
): Promise<boolean> {
  const isDone = step.then(
    () => true,
    (error: Error) => {
      logger.error({ err: error }, "a step of the shutdown failed");
      return true;
    },
  );
  const inTime = await within(isDone, deadlineMs, () => false);
  if (!inTime) logger.warn({ deadlineMs }, warning);
  return inTime;
}
