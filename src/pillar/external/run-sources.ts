/**
 * Runs the commands of external pillar sources and asks their servers, one after the other, with one common deadline. At the deadline a command's
 * whole process group is killed, and a server's connection is closed.
 */
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import { extPillarBytesMax } from "../../limits.ts";
import type { PillarSettings } from "../input/settings.ts";
import { shellOf } from "./commands.ts";
import type { SourceAsked, SourceOutcome, SourceOutcomes, SourceQuestion } from "./contract.ts";
import { faultOf, turnsOf } from "./merge-sources.ts";
import {
  type Ending,
  type Environment,
  type ProgramPlace,
  programsOf,
  type RunLimits,
  type RunProgram,
  type SourceCommand,
} from "./programs/run-program.ts";

/** Number of commands and questions of one pillar by how they ended. */
export type CommandCounts = Readonly<Record<Ending, number>>;

/** As in Salt, commands run with an English locale. */
const plainLocale: Readonly<Record<string, string>> = Object.fromEntries(
  "CTYPE NUMERIC TIME COLLATE MONETARY MESSAGES PAPER NAME ADDRESS TELEPHONE MEASUREMENT IDENTIFICATION"
    .split(" ")
    .map((part) => [`LC_${part}`, "C"]),
);

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

/** Where commands run, as in Salt. */
function placeOf(environment: Environment): ProgramPlace {
  return { cwd: workingDirectory(), env: commandEnvironment(environment) };
}

/** @returns the outcome of each source that this minion's pillar waits for, and counts by outcome */
export async function runSources(
  settings: PillarSettings,
  asked: Pick<SourceAsked, "id" | "grains" | "pillarenv" | "saltenv">,
  environment: Environment,
  timeoutMs: number,
  programs: RunProgram = programsOf(),
): Promise<{ readonly outcomes: SourceOutcomes; readonly counts: CommandCounts }> {
  // A minion writes its grains itself. What a source asks for by the grain `id` is that of the minion that signed in.
  const own = { ...asked, environment, grains: new Map(asked.grains).set("id", asked.id) };
  const outcomes: Record<string, SourceOutcomes[string]> = {};
  const counts: Record<Ending, number> = { ended: 0, failed: 0, timeout: 0, tooLarge: 0 };
  const inPlace = placeOf(environment);
  const deadlineMs = performance.now() + timeoutMs;
  for (const { place, run: turn } of turnsOf(settings, own, shellOf(environment))) {
    if ("fault" in turn) {
      outcomes[place] = turn;
      counts.failed += 1;
      continue;
    }
    const startedMs = performance.now();
    const limits = { remainingMs: deadlineMs - startedMs, timeoutMs };
    const { ending, outcome } = await (typeof turn === "function"
      ? ask(turn, limits)
      : programs(turn, inPlace, limits));
    outcomes[place] = { ...outcome, seconds: (performance.now() - startedMs) / 1_000 };
    counts[ending] += 1;
  }
  return { outcomes, counts };
}

/** Runs one command of another kind of source, under the same limits. */
export async function runCommand(
  command: SourceCommand,
  environment: Environment,
  { timeoutMs, programs = programsOf() }: { readonly timeoutMs: number; readonly programs?: RunProgram },
): Promise<SourceOutcome> {
  return (await programs(command, placeOf(environment), { remainingMs: timeoutMs, timeoutMs })).outcome;
}

type Asked = { readonly ending: Ending; readonly outcome: SourceOutcome };

/** Asks a server. Its answer is not waited for after the deadline. */
async function ask(question: SourceQuestion, { remainingMs, timeoutMs }: RunLimits): Promise<Asked> {
  const fault = `the sources took longer than ext_pillar_timeout (${timeoutMs / 1_000} seconds)`;
  const late: Asked = { ending: "timeout", outcome: { fault, isFatal: true } };
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

function answerOf(reply: Uint8Array): Asked {
  if (reply.length <= extPillarBytesMax) return { ending: "ended", outcome: { reply } };
  const fault = `the server sent more than ${extPillarBytesMax} bytes`;
  return { ending: "tooLarge", outcome: { fault, isFatal: true } };
}

function failureOf(error: unknown): Asked {
  const isTooLarge = error instanceof SaltworksError && error.detail.isTooLarge === true;
  return { ending: isTooLarge ? "tooLarge" : "failed", outcome: faultOf(error) };
}
