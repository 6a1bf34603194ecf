/**
 * Runs one command of an external pillar source with bounded output and a deadline. At the deadline the command's whole process group is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { extPillarBytesMax, extPillarComplaintMax } from "../../../limits.ts";
import { type CommandGuard, endGroup } from "./guard.ts";

/**
 * A program to run before the pillar is compiled: the configured words, with the minion's id in place of `%s`. `input`: what it reads from
 * its standard input.
 */
export type SourceCommand = { readonly argv: readonly [string, ...string[]]; readonly input?: string };
/** How a command ended. `complaint`: its shortened stderr, for the master's log only. */
export type CommandEnd = { readonly stdout: string; readonly exitCode: number; readonly complaint: string };
/** `isFatal`: `ext_pillar_failures: ignore` does not hide the fault. */
export type CommandFault = { readonly fault: string; readonly isFatal: boolean };

export type Ending = "ended" | "failed" | "timeout" | "tooLarge";
export type Ended = { readonly ending: Ending; readonly outcome: CommandEnd | CommandFault };

/** Environment variables; the program's entry passes them in. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** `cwd`: the working directory. */
export type ProgramPlace = { readonly cwd: string; readonly env: Environment };

/** `remainingMs`: until the deadline. `timeoutMs`: the option's value, for messages. */
export type RunLimits = { readonly remainingMs: number; readonly timeoutMs: number };
/** Runs a command with bounded output until the deadline. Never rejects. */
export type RunProgram = (command: SourceCommand, place: ProgramPlace, limits: RunLimits) => Promise<Ended>;

/** Runs commands from this process. `guard`: kills them if this process dies. */
export function programsOf(guard?: CommandGuard): RunProgram {
  return (command, place, limits) => run(command, place, limits, guard);
}

function run(
  { argv, input }: SourceCommand,
  place: ProgramPlace,
  { remainingMs, timeoutMs }: RunLimits,
  guard: CommandGuard | undefined,
): Promise<Ended> {
  const late = `the commands took longer than ext_pillar_timeout (${timeoutMs / 1_000} seconds)`;
  if (remainingMs <= 0) return Promise.resolve({ ending: "timeout", outcome: { fault: late, isFatal: true } });
  guard?.start();
  const child = started(argv, place, input !== undefined);
  if ("ending" in child) return Promise.resolve(child);
  const { pid } = child;
  if (pid !== undefined) guard?.add(pid);
  return new Promise((resolve) => {
    const end = (ended: Ended) => {
      clearTimeout(timer);
      if (pid !== undefined) guard?.remove(pid);
      resolve(ended);
    };
    child.once("error", (error) => end(unstarted(error)));
    // A program that ends without reading its input closes the pipe.
    child.stdin?.on("error", () => undefined).end(input);
    const stop = (ending: Ending, fault: string) => {
      const left = pid === undefined ? undefined : endGroup(pid);
      // A process that left the group may still hold the pipes open; closes them here.
      child.stdout?.destroy();
      child.stderr?.destroy();
      end({
        ending,
        outcome: { fault: left === undefined ? fault : `${fault}; it could not be ended: ${left}`, isFatal: true },
      });
    };
    const timer = setTimeout(() => stop("timeout", late), remainingMs);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let complaint = "";
    // The pipes are missing if no file descriptor is free; the "error" event follows.
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > extPillarBytesMax) stop("tooLarge", `the command wrote more than ${extPillarBytesMax} bytes`);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      if (complaint.length < extPillarComplaintMax) complaint += chunk.toString("utf8");
    });
    child.once("close", (code) =>
      end({
        ending: code === 0 ? "ended" : "failed",
        outcome: {
          stdout: Buffer.concat(chunks).toString("utf8"),
          exitCode: code ?? -1,
          complaint: complaint.slice(0, extPillarComplaintMax).trim(),
        },
      }),
    );
  });
}

function started(
  [program, ...args]: SourceCommand["argv"],
  { cwd, env }: ProgramPlace,
  hasInput: boolean,
): ChildProcess | Ended {
  try {
    return spawn(program, args, {
      cwd,
      env,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
      // A separate process group, so that the deadline kills every process of the command.
      detached: true,
    });
  } catch (error) {
    return unstarted(error as Error);
  }
}

/** The end of a command that the system did not start. */
export function unstarted(error: NodeJS.ErrnoException): Ended {
  const fault = `the command could not be started: ${error.code ?? "an error"}`;
  return { ending: "failed", outcome: { fault, isFatal: false } };
}
