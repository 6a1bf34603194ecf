/** Waits for work that Ctrl-C leaves to itself. */
import type { Host } from "./host.ts";

/** `interrupted`: gives the outcome after Ctrl-C, or throws. */
export async function untilInterrupted<Outcome>(
  host: Pick<Host, "onInterrupt">,
  running: Promise<Outcome>,
  interrupted: () => Outcome,
): Promise<Outcome> {
  let forgetInterrupt: () => void = () => undefined;
  const left = new Promise<Outcome>((resolve) => {
    forgetInterrupt = host.onInterrupt(() => resolve(Promise.resolve().then(interrupted)));
  });
  try {
    return await Promise.race([running, left]);
  } finally {
    forgetInterrupt();
  }
}
