/** `--hard-crash`: shows an error with its stack and its causes instead of one line. */
import { inspect } from "node:util";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";

/** Python's exit code after an exception. */
const crashExitCode = 1;

/** `isAsked`: by the option. The variable `SALT_HARD_CRASH` means the same. */
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
