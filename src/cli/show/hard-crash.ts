/** `--hard-crash`: an error is shown with the place that it came from and with its causes, instead of in one line. */
import { inspect } from "node:util";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";

/** As Python counts a program that an exception ended. */
const crashExitCode = 1;

/** `isAsked`: by the option; `SALT_HARD_CRASH` in the environment means the same. */
export async function orCrash(isAsked: boolean, host: Host, run: () => Promise<number>): Promise<number> {
  if (!isHardCrash(isAsked, host)) return await run();
  try {
    return await run();
  } catch (error) {
    if (error instanceof Exit) throw error;
    host.complain(`${inspect(error)}\n`);
    return crashExitCode;
  }
}

export function isHardCrash(isAsked: boolean, host: Pick<Host, "environment">): boolean {
  return isAsked || (host.environment.SALT_HARD_CRASH ?? "") !== "";
}
