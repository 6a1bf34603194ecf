/**
 * Runs one command to its end for `cmd.*`: limited output, a deadline that ends the whole process group, another user, umask.
 * Salt's options and texts are in cmd/run.ts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { commandOutputBytesMax } from "../../../limits.ts";
import { isFileError } from "./file-error.ts";
import { executableOf } from "./which.ts";

export type Command = {
  /** Program and arguments; a name without a slash is looked up in the command's own PATH. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  readonly timeoutMs?: number;
  /** stderr goes to stdout, in the order of writing. */
  readonly isMerged?: boolean;
  /** Octal digits. */
  readonly umask?: string;
  readonly identity?: { readonly uid: number; readonly gid: number };
};

export type CommandEnd = {
  readonly pid: number;
  /** Exit code, or minus the number of the signal that ended it. */
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Bytes beyond `commandOutputBytesMax` that were read and dropped. */
  readonly droppedBytes: number;
  readonly isTimedOut: boolean;
};

/** @throws the file system's error when the program cannot be started (ENOENT, EACCES, ...) */
export async function runCommand(command: Command): Promise<CommandEnd> {
  const child = start(command, false);
  const stdout = new CappedOutput();
  const stderr = new CappedOutput();
  child.stdout?.on("data", (chunk: Buffer) => stdout.add(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.add(chunk));
  return await new Promise((resolve, reject) => {
    let deadline: NodeJS.Timeout | undefined;
    const finish = (exitCode: number, isTimedOut: boolean) => {
      clearTimeout(deadline);
      resolve({
        pid: child.pid ?? 0,
        exitCode,
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        droppedBytes: stdout.droppedBytes + stderr.droppedBytes,
        isTimedOut,
      });
    };
    child.once("error", reject);
    child.once("close", (code, signal) => finish(code ?? -signalNumber(signal), false));
    if (command.timeoutMs !== undefined) {
      deadline = setTimeout(() => {
        killGroup(child);
        // A grandchild that left the group may still hold the pipes open; closes them here.
        child.stdout?.destroy();
        child.stderr?.destroy();
        finish(-constants.signals.SIGKILL, true);
      }, command.timeoutMs);
    }
    feed(child, command.stdin);
  });
}

/** Starts a command without waiting for it. @returns its pid */
export async function startInBackground(command: Command): Promise<number> {
  const child = start(command, true);
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => {
      child.unref();
      resolve(child.pid ?? 0);
    });
  });
}

function start(command: Command, isBackground: boolean): ChildProcess {
  const argv = withPreparation(command);
  return spawn(argv[0], argv.slice(1), {
    cwd: command.cwd,
    env: command.environment,
    argv0: argv[0],
    stdio: isBackground ? "ignore" : [command.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    // A separate process group, so that a deadline ends every process of the command.
    detached: isBackground || command.timeoutMs !== undefined,
  });
}

/**
 * Starts the command through programs that prepare the process and then exec it (the pid stays): `setpriv` for user and
 * groups, because Node would drop supplementary groups, and a shell for umask and merged output, which Node cannot set.
 */
function withPreparation(command: Command): readonly [string, ...string[]] {
  const steps: string[] = [];
  if (command.umask !== undefined) steps.push(`umask ${command.umask}`);
  if (command.isMerged === true) steps.push("exec 2>&1");
  if (steps.length === 0 && command.identity === undefined) return command.argv;
  assertStartable(command);
  const asOther = command.identity === undefined ? [] : setprivWords(command.identity);
  if (steps.length === 0) return ["setpriv", ...asOther.slice(1), ...command.argv];
  return ["/bin/sh", "-c", `${steps.join("; ")}; exec "$@"`, "sh", ...asOther, ...command.argv];
}

function setprivWords({ uid, gid }: { readonly uid: number; readonly gid: number }): string[] {
  return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--"];
}

/** Looks for the command first, because `setpriv` and the shell would report a missing command in their own words. */
function assertStartable(command: Command): void {
  const [name] = command.argv;
  if (executableOf(name, command.environment.PATH) !== undefined) return;
  throw Object.assign(new Error(`spawn ${name} ENOENT`), { code: "ENOENT", errno: -2, syscall: `spawn ${name}` });
}

function feed(child: ChildProcess, stdin: Uint8Array | undefined): void {
  if (stdin === undefined || child.stdin === null) return;
  // A command may end without reading all of its input.
  child.stdin.on("error", (error) => {
    if (!isFileError(error) || (error.code !== "EPIPE" && error.code !== "ECONNRESET")) throw error;
  });
  child.stdin.end(stdin);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if (!isFileError(error) || error.code !== "ESRCH") throw error;
  }
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal];
}

/** Keeps the first bytes of a stream and counts the rest, so that the command can keep writing. */
class CappedOutput {
  readonly #chunks: Buffer[] = [];
  #keptBytes = 0;
  droppedBytes = 0;

  add(chunk: Buffer): void {
    const room = commandOutputBytesMax - this.#keptBytes;
    const kept = chunk.subarray(0, room);
    if (kept.length > 0) this.#chunks.push(kept);
    this.#keptBytes += kept.length;
    this.droppedBytes += chunk.length - kept.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
