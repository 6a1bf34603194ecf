/** Starts the bench program, which is a child of its own: it drives masters and fleets and shares nothing with the command line but its options. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { withoutNodeVariables } from "../daemon/node-environment.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";

const program = fileURLToPath(new URL("../../../bench/main.js", import.meta.url));
const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** As a shell counts a program that a signal ended. */
const signalledExitCode = 128;
const signalNumbers: Readonly<Partial<Record<NodeJS.Signals, number>>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGTERM: 15,
};

/**
 * Answers help and a command line that cannot be understood by itself; anything else the program reads again.
 *
 * @returns the program's exit code
 * @throws Exit after help, version or a usage error
 */
export async function runBenchProgram(name: "bench" | "tune", argv: readonly string[], host: Host): Promise<number> {
  understand(name, argv, host);
  // In a process group of its own, so that Ctrl-C reaches this process only: the fleet must outlive the signal until its master has been stopped.
  const child = spawn(process.execPath, [...process.execArgv, program, name, ...argv], {
    stdio: ["ignore", "inherit", "inherit"],
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
