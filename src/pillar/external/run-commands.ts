/**
 * Runs the commands of external pillar sources one after the other, with bounded output and one common deadline. At the deadline
 * the whole process group is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { extPillarBytesMax, extPillarComplaintMax } from "../../limits.ts";
import type { PillarSettings } from "../input/settings.ts";
import { type CommandGuard, endGroup } from "./command-guard.ts";
import { shellOf } from "./commands.ts";
import type { CommandOutcome, SourceCommand, SourceOutcomes } from "./contract.ts";
import { commandsOf } from "./merge-sources.ts";

type Ending = "ended" | "failed" | "timeout" | "tooLarge";
/** Number of commands of one pillar by how they ended. */
export type CommandCounts = Readonly<Record<Ending, number>>;

/** As in Salt, commands run with an English locale. */
const plainLocale: Readonly<Record<string, string>> = Object.fromEntries(
  "CTYPE NUMERIC TIME COLLATE MONETARY MESSAGES PAPER NAME ADDRESS TELEPHONE MEASUREMENT IDENTIFICATION"
    .split(" ")
    .map((part) => [`LC_${part}`, "C"]),
);

/** Environment variables; the program's entry passes them in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The master's environment without the variables that configure the master itself. */
function commandEnvironment(environment: Environment): Environment {
  const {
    NOTIFY_SOCKET: _socket,
    WATCHDOG_USEC: _usec,
    WATCHDOG_PID: _pid,
    NODE_OPTIONS: _options,
    ...rest
  } = environment;
  return { ...rest, ...plainLocale, LANGUAGE: "C" };
}

/** The home directory, as in Salt; `/` if it cannot be read. */
function workingDirectory(): string {
  try {
    accessSync(homedir(), constants.R_OK);
    return homedir();
  } catch {
    return "/";
  }
}

/** `guard`: kills running commands if this process dies. @returns the outcome of each command of this minion's pillar, and counts by outcome */
export async function runSourceCommands(
  settings: PillarSettings,
  id: string,
  environment: Environment,
  timeoutMs: number,
  guard?: CommandGuard,
): Promise<{ readonly outcomes: SourceOutcomes; readonly counts: CommandCounts }> {
  const outcomes: Record<string, CommandOutcome> = {};
  const counts: Record<Ending, number> = { ended: 0, failed: 0, timeout: 0, tooLarge: 0 };
  const env = commandEnvironment(environment);
  const deadlineMs = performance.now() + timeoutMs;
  for (const [place, command] of commandsOf(settings, id, shellOf(environment))) {
    if (!("argv" in command)) {
      outcomes[place] = command;
      counts.failed += 1;
      continue;
    }
    const { ending, outcome } = await run(command, env, {
      remainingMs: deadlineMs - performance.now(),
      timeoutMs,
      guard,
    });
    outcomes[place] = outcome;
    counts[ending] += 1;
  }
  return { outcomes, counts };
}

type Ended = { readonly ending: Ending; readonly outcome: CommandOutcome };

type RunLimits = {
  readonly remainingMs: number;
  readonly timeoutMs: number;
  readonly guard: CommandGuard | undefined;
};

function run({ argv }: SourceCommand, env: Environment, limits: RunLimits): Promise<Ended> {
  const { remainingMs, timeoutMs, guard } = limits;
  const late = `the commands took longer than ext_pillar_timeout (${timeoutMs / 1_000} seconds)`;
  if (remainingMs <= 0) return Promise.resolve({ ending: "timeout", outcome: { fault: late, isFatal: true } });
  guard?.start();
  const child = started(argv, env);
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

function started([program, ...args]: SourceCommand["argv"], env: Environment): ChildProcess | Ended {
  try {
    return spawn(program, args, {
      cwd: workingDirectory(),
      env,
      stdio: ["ignore", "pipe", "pipe"],
      // A separate process group, so that the deadline kills every process of the command.
      detached: true,
    });
  } catch (error) {
    return unstarted(error as Error);
  }
}

function unstarted(error: NodeJS.ErrnoException): Ended {
  const fault = `the command could not be started: ${error.code ?? "an error"}`;
  return { ending: "failed", outcome: { fault, isFatal: false } };
}
