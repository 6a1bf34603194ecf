/** Runs a step of the shutdown with a time limit, so that a step that hangs or fails does not keep the process from ending. */
import type { Logger } from "pino";

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
  const inTime = await Promise.race([isDone, later(deadlineMs).then(() => false)]);
  if (!inTime) logger.warn({ deadlineMs }, warning);
  return inTime;
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
