/** Runs our command line as an operator does. */
import { execFile } from "node:child_process";
import { cliFile } from "./our-master.ts";

const outputBytesMax = 256 * 1024 * 1024;

export type CliResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** An exit code is a result, not an error. `input`: for its standard input. @throws Error if the program does not end by itself within `timeoutMs` */
export function runCli(args: readonly string[], timeoutMs: number, input?: string): Promise<CliResult> {
  return runProgram(process.execPath, [cliFile, ...args], timeoutMs, input);
}

/** The same for any program. @throws Error as `runCli` */
export function runProgram(
  file: string,
  args: readonly string[],
  timeoutMs: number,
  input?: string,
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: outputBytesMax, killSignal: "SIGKILL" as const };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : error.code;
      if (typeof exitCode === "number") resolve({ exitCode, stdout, stderr });
      else reject(new Error(`${args.join(" ")} did not end: ${stderr}`, { cause: error }));
    });
    if (input !== undefined) child.stdin?.end(input);
  });
}
