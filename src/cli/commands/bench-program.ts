/** Starts the bench program as a child process, because it drives masters and fleets and shares only its options with the command line. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { withoutNodeVariables } from "../daemon/node-environment.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";

const program = fileURLToPath(new URL("../../../bench/main.js", import.meta.url));
const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** For a program that a signal ended, shells report this plus the signal's number. */
const signalledExitCode = 128;
const signalNumbers: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGTERM: 15,
};

/**
 * Answers help and usage errors itself. Any other command line goes to the child, which parses it again.
 *
 * @returns the program's exit code
 * @throws Exit after help, version or a usage error
 */
export async function runBenchProgram(
  name: "bench" | "tune" | "size",
  argv: readonly string[],
  host: Host,
): Promise<number> {
  understand(name, argv, host);
  // Its own process group keeps Ctrl-C from the child: the fleet must run until its master has stopped.
  const child = spawn(process.execPath, [...process.execArgv, program, name, ...argv], {
    // The tuner may ask a question.
    stdio: [name === "tune" ? "inherit" : "ignore", "inherit", "inherit"],
    detached: true,
    env: withoutNodeVariables(process.env),
  });
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  process.once("exit", kill);
  const ignores = passedOn.map((signal) => host.onInterrupt(() => child.kill(signal), [signal]));
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        resolve(code ?? signalledExitCode + (signal === null ? 0 : (signalNumbers[signal] ?? 0)));
      });
    });
  } finally {
    process.off("exit", kill);
    for (const ignore of ignores) ignore();
  }
}
