/** Our command line as an operator runs it. */
import { execFile } from "node:child_process";
import { cliFile } from "./our-master.ts";

const outputBytesMax = 256 * 1024 * 1024;

export type CliResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** Never rejects for an exit code: that is a result. */
export function runCli(args: readonly string[], timeoutMs: number): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: outputBytesMax, killSignal: "SIGKILL" as const };
    execFile(process.execPath, [cliFile, ...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : error.code;
      if (typeof exitCode === "number") resolve({ exitCode, stdout, stderr });
      else reject(new Error(`${args.join(" ")} did not end: ${stderr}`, { cause: error }));
    });
  });
}
