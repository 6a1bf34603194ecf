/**
 * Runs the commands of external pillar sources and asks their servers, one after the other, with bounded output and one common deadline. At
 * the deadline a command's whole process group is killed, and a server's connection is closed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import { extPillarBytesMax, extPillarComplaintMax } from "../../limits.ts";
import type { PillarSettings } from "../input/settings.ts";
import { type CommandGuard, endGroup } from "./command-guard.ts";
import { shellOf } from "./commands.ts";
import type { SourceAsked, SourceCommand, SourceOutcome, SourceOutcomes, SourceQuestion } from "./contract.ts";
import { faultOf, turnsOf } from "./merge-sources.ts";

type Ending = "ended" | "failed" | "timeout" | "tooLarge";
/** Number of commands and questions of one pillar by how they ended. */
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

/** `guard`: kills running commands if this process dies. @returns the outcome of each source that this minion's pillar waits for, and counts by outcome */
export async function runSources(
  settings: PillarSettings,
  asked: Pick<SourceAsked, "id" | "grains" | "pillarenv" | "saltenv">,
  environment: Environment,
  timeoutMs: number,
  guard?: CommandGuard,
): Promise<{ readonly outcomes: SourceOutcomes; readonly counts: CommandCounts }> {
  // A minion writes its grains itself. What a source asks for by the grain `id` is that of the minion that signed in.
  const own = { ...asked, environment, grains: new Map(asked.grains).set("id", asked.id) };
  const outcomes: Record<string, SourceOutcomes[string]> = {};
  const counts: Record<Ending, number> = { ended: 0, failed: 0, timeout: 0, tooLarge: 0 };
  const env = commandEnvironment(environment);
  const deadlineMs = performance.now() + timeoutMs;
  for (const { place, run: turn } of turnsOf(settings, own, shellOf(environment))) {
    if ("fault" in turn) {
      outcomes[place] = turn;
      counts.failed += 1;
      continue;
    }
    const startedMs = performance.now();
    const limits = { remainingMs: deadlineMs - startedMs, timeoutMs, guard };
    const { ending, outcome } = await (typeof turn === "function" ? ask(turn, limits) : run(turn, env, limits));
    outcomes[place] = { ...outcome, seconds: (performance.now() - startedMs) / 1_000 };
    counts[ending] += 1;
  }
  return { outcomes, counts };
}

/** Runs one command of another kind of source, under the same limits. */
export async function runCommand(
  command: SourceCommand,
  environment: Environment,
  { timeoutMs, guard }: { readonly timeoutMs: number; readonly guard?: CommandGuard },
): Promise<SourceOutcome> {
  const limits = { remainingMs: timeoutMs, timeoutMs, guard };
  return (await run(command, commandEnvironment(environment), limits)).outcome;
}

type Ended = { readonly ending: Ending; readonly outcome: SourceOutcome };

/** Asks a server. Its answer is not waited for after the deadline. */
async function ask(question: SourceQuestion, { remainingMs, timeoutMs }: RunLimits): Promise<Ended> {
  const fault = `the sources took longer than ext_pillar_timeout (${timeoutMs / 1_000} seconds)`;
  const late: Ended = { ending: "timeout", outcome: { fault, isFatal: true } };
  if (remainingMs <= 0) return late;
  const ending = new AbortController();
  const limits = { timeoutMs: Math.ceil(remainingMs), signal: ending.signal };
  const answered = Promise.resolve(limits).then(question).then(answerOf, failureOf);
  try {
    return await within(answered, remainingMs, () => late);
  } finally {
    ending.abort();
  }
}

function answerOf(reply: Uint8Array): Ended {
  if (reply.length <= extPillarBytesMax) return { ending: "ended", outcome: { reply } };
  const fault = `the server sent more than ${extPillarBytesMax} bytes`;
  return { ending: "tooLarge", outcome: { fault, isFatal: true } };
}

function failureOf(error: unknown): Ended {
  const isTooLarge = error instanceof SaltworksError && error.detail.isTooLarge === true;
  return { ending: isTooLarge ? "tooLarge" : "failed", outcome: faultOf(error) };
}

type RunLimits = {
  readonly remainingMs: number;
  readonly timeoutMs: number;
  readonly guard: CommandGuard | undefined;
};

function run({ argv, input }: SourceCommand, env: Environment, limits: RunLimits): Promise<Ended> {
  const { remainingMs, timeoutMs, guard } = limits;
  const late = `the commands took longer than ext_pillar_timeout (${timeoutMs / 1_000} seconds)`;
  if (remainingMs <= 0) return Promise.resolve({ ending: "timeout", outcome: { fault: late, isFatal: true } });
  guard?.start();
  const child = started(argv, env, input !== undefined);
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

function started([program, ...args]: SourceCommand["argv"], env: Environment, hasInput: boolean): ChildProcess | Ended {
  try {
    return spawn(program, args, {
      cwd: workingDirectory(),
      env,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
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
