/** Runs a program of the system, without logging and with a deadline, for facts about this machine: `ip`, `getent`, `df` and others. */
import { execFile } from "node:child_process";
import { probeOutputBytesMax, probeTimeoutMs } from "../../../limits.ts";
import { isFileError } from "./file-error.ts";

export type ProgramResult = {
  /** Whether the program exists. */
  readonly isFound: boolean;
  /** Its exit code; -1 if it was killed, by the deadline or otherwise. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
};

/** @param environment - all variables of the program; undefined passes this process's own */
export function runProgram(
  file: string,
  args: readonly string[],
  environment?: Readonly<Record<string, string | undefined>>,
): Promise<ProgramResult> {
  const options = {
    encoding: "utf8" as const,
    timeout: probeTimeoutMs,
    killSignal: "SIGKILL" as const,
    maxBuffer: probeOutputBytesMax,
    ...(environment === undefined ? {} : { env: environment }),
  };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ isFound: true, exitCode: 0, stdout, stderr });
      else if (!isFileError(error)) {
        resolve({ isFound: true, exitCode: typeof error.code === "number" ? error.code : -1, stdout, stderr });
      } else if (error.code === "ENOENT" || error.code === "EACCES") {
        resolve({ isFound: false, exitCode: -1, stdout: "", stderr: "" });
      } else reject(error);
    });
  });
}
