/** Runs the installed `git`: in an environment of its own, with bounded output, and with a deadline at which its whole process group is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { SaltworksError } from "../errors.ts";
import { gitComplaintMax, gitOutputBytesMax } from "../limits.ts";

export type GitEnvironment = Readonly<Record<string, string | undefined>>;

export type GitCall = {
  readonly args: readonly string[];
  readonly environment: GitEnvironment;
  readonly timeoutMs: number;
  /** A file descriptor that gets the output. Without it the output is collected, up to `gitOutputBytesMax`. */
  readonly outputTo?: number;
};

/** Options of every call: no other program may be started by a remote's name, no slow server is waited for, and nothing of the operator's hooks runs. */
const everyCall = [
  ..."protocol.ext.allow=never core.hooksPath=/dev/null core.fsmonitor=false gc.auto=0 maintenance.auto=false".split(
    " ",
  ),
  ..."http.lowSpeedLimit=1000 http.lowSpeedTime=30 advice.detachedHead=false fetch.fsckObjects=false".split(" "),
].flatMap((setting) => ["-c", setting]);

/** Without the variables that lead git to another repository, and without prompts. */
export function gitEnvironment(outer: GitEnvironment): GitEnvironment {
  const kept = Object.entries(outer).filter(([name]) => !name.startsWith("GIT_") || name === "GIT_SSH_COMMAND");
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_ASKPASS: "true",
    SSH_ASKPASS: "true",
    LC_ALL: "C",
    LANGUAGE: "C",
    NODE_OPTIONS: undefined,
  };
}

/** Starts `git` in a process group of its own. @throws SaltworksError GIT_FAILED */
export function startGit(args: readonly string[], environment: GitEnvironment, output: "pipe" | number): ChildProcess {
  try {
    return spawn("git", [...everyCall, ...args], {
      cwd: "/",
      env: environment as NodeJS.ProcessEnv,
      stdio: ["pipe", output, "pipe"],
      detached: true,
    });
  } catch (error) {
    throw notStarted(error as NodeJS.ErrnoException);
  }
}

export function notStarted(error: NodeJS.ErrnoException): SaltworksError {
  const text = error.code === "ENOENT" ? "the program git is not installed" : `git could not be started: ${error.code}`;
  return new SaltworksError("GIT_FAILED", text, {}, { cause: error });
}

/** Kills the program with all that it has started. */
export function endGit({ pid, stdout, stderr, stdin }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
  for (const pipe of [stdin, stdout, stderr]) pipe?.destroy();
}

/** The first lines of git's complaint, without user names and passwords of URLs. */
export function shownComplaint(text: string): string {
  return text
    .replaceAll(/:\/\/[^\s/@]*@/g, "://")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, gitComplaintMax);
}

/** @returns the output. @throws SaltworksError GIT_FAILED with git's complaint, also at the deadline and over the bound */
export function runGit({ args, environment, timeoutMs, outputTo }: GitCall): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const program = startGit(args, environment, outputTo ?? "pipe");
    let isOver = false;
    const end = (outcome: Buffer | SaltworksError) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (Buffer.isBuffer(outcome)) resolve(outcome);
      else reject(outcome);
    };
    const stop = (text: string) => {
      endGit(program);
      end(new SaltworksError("GIT_FAILED", text));
    };
    const timer = setTimeout(() => stop(`git took longer than ${timeoutMs / 1_000} s`), timeoutMs);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let complaint = "";
    program.stdin?.on("error", () => undefined).end();
    program.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > gitOutputBytesMax) stop(`git wrote more than ${gitOutputBytesMax} bytes`);
    });
    program.stderr?.on("data", (chunk: Buffer) => {
      if (complaint.length < gitComplaintMax * 4) complaint += chunk.toString();
    });
    program.once("error", (error) => end(notStarted(error)));
    program.once("close", (code) => {
      if (code === 0) return end(Buffer.concat(chunks));
      end(
        new SaltworksError("GIT_FAILED", shownComplaint(complaint) || `git ended with ${code}`, {
          exitCode: code ?? -1,
        }),
      );
    });
  });
}
