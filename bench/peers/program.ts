/** Options and signals that the programs of this folder share. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SaltworksError } from "../../src/errors.ts";

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** @throws SaltworksError USAGE for anything but a whole number above 0 */
export function countOf(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new SaltworksError("USAGE", `${option} takes a whole number above 0, not ${text}`);
  }
  return value;
}

/** "1,4" */
export function countsOf(option: string, text: string): number[] {
  return text.split(",").map((part) => countOf(option, part));
}

/** The virtual environment of the option or of the environment variable. @throws SaltworksError USAGE if it has no Salt */
export function saltVenv(named: string | undefined): string | undefined {
  const venv = named ?? process.env.SALTWORKS_SALT_VENV;
  if (venv !== undefined && !existsSync(join(venv, "bin", "salt-master"))) {
    throw new SaltworksError("USAGE", `no salt-master in ${venv}`);
  }
  return venv;
}

/** Aborted by the first Ctrl-C, so that masters and minions end and their directories are removed. A second one ends the program at once. */
export function signalOfInterrupts(): AbortSignal {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  return stop.signal;
}

const usageExitCode = 64;
const interruptedExitCode = 130;

/** Prints one line for a wrong command line or an interruption. Any other error is a fault and shows its stack. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (hasCode(error, "USAGE")) {
      say((error as Error).message);
      process.exitCode = usageExitCode;
    } else if (error instanceof Error && error.name === "AbortError") {
      say("interrupted");
      process.exitCode = interruptedExitCode;
    } else throw error;
  }
}
