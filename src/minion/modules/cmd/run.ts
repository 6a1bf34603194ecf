/**
 * Runs one command of `cmd.*`: finds its user, directory and variables, forms its result, and logs it.
 * Source: behaviour of Salt 3007's cmd module, docs/functions.md.
 */

import { accessSync, constants } from "node:fs";
import { isAbsolute } from "node:path";
import { isDirectory } from "../../../config/files/kinds.ts";
import { commandOutputBytesMax } from "../../../limits.ts";
import { reprOf, strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { argumentError, commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { renderer } from "../declare/text-template.ts";
import { decodeOutput, stripEnd } from "../machine/command-output.ts";
import type { Environment } from "../machine/environment.ts";
import { isFileError } from "../machine/file-error.ts";
import { type Command, type CommandEnd, runCommand, startInBackground } from "../machine/run-command.ts";
import { splitShellWords } from "../machine/shell-words.ts";
import { isExecutableFile } from "../machine/which.ts";
import { assertPermitted } from "./lists.ts";
import { type CommandOptions, timeoutMsOf } from "./options.ts";
import { findIdentity, type Identity, loginVariables } from "./user.ts";

/** The result of `cmd.run_all`. A command in the background has no retcode. */
export type CommandResult = { pid: number; retcode: number | null; stdout: string; stderr: string };

/** Locale variables that Salt sets to C, so that commands print English. LC_ALL stays as it is. */
const localeVariables = [
  "LC_CTYPE",
  "LC_NUMERIC",
  "LC_TIME",
  "LC_COLLATE",
  "LC_MONETARY",
  "LC_MESSAGES",
  "LC_PAPER",
].concat(["LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION", "LANGUAGE"]);

/** Runs `cmd` (a text, a list of words, or anything that Python would turn into text) and sets the job's retcode. */
export async function runSaltCommand(
  context: CallContext,
  environment: Environment,
  given: Value,
  options: CommandOptions,
): Promise<CommandResult> {
  const identity = await findIdentity(options);
  const [cmd, cwd] = await rendered(context, options, given, options.cwd ?? homeDirectory(identity, environment));
  if (options.shell !== undefined && !isExecutableFile(options.shell)) {
    throw commandError(`The shell ${options.shell} is not available`);
  }
  if (isTrue(context.publish.get("jid") ?? null)) assertPermitted(context, cmd);
  const variables = await commandVariables(context, environment, options, identity);
  if (!isAbsolute(cwd) || !isDirectory(cwd)) {
    throw commandError(`Specified cwd '${cwd}' either not absolute or does not exist`);
  }
  const timeoutMs = timeoutMsOf(options.timeout);
  if (!options.isQuiet) context.log.info(executionText(cmd, options, cwd));
  const command: Command = {
    argv: wordsOf(cmd, options),
    cwd,
    environment: variables,
    isMerged: options.isMerged,
    ...(options.stdin === undefined ? {} : { stdin: Buffer.from(options.stdin.replaceAll("\\n", "\n")) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(options.umask === undefined ? {} : { umask: options.umask }),
    ...(identity?.ids === undefined ? {} : { identity: identity.ids }),
  };
  if (options.isBackground) {
    const pid = await startInBackground(command).catch((error: unknown) => refuseStart(error, command, options));
    context.setRetcode(0);
    return { pid, retcode: null, stdout: "", stderr: "" };
  }
  const end = await runCommand(command).catch((error: unknown) => refuseStart(error, command, options));
  return resultOf(context, cmd, options, end);
}

/** Renders the command and its directory if the call has `template=`. */
async function rendered(
  context: CallContext,
  { template }: CommandOptions,
  cmd: Value,
  cwd: string,
): Promise<readonly [cmd: Value, cwd: string]> {
  if (template.engine === undefined) return [cmd, cwd];
  if (Array.isArray(cmd)) throw argumentError("expected str, bytes, or bytearray not <class 'list'>");
  const render = await renderer(context, template);
  return [await render(strOf(cmd)), await render(cwd)];
}

function resultOf(context: CallContext, cmd: Value, options: CommandOptions, end: CommandEnd): CommandResult {
  if (end.isTimedOut) {
    const words = options.isShellUsed || Array.isArray(cmd) ? cmd : wordsOf(cmd, options).slice();
    const stdout = `${strOf(words)} : Timed out after ${strOf(options.timeout)} seconds`;
    // Salt does not set the job's retcode here, so a job whose command timed out counts as successful.
    return { pid: end.pid, retcode: 1, stdout, stderr: "" };
  }
  const strip = options.isStripped ? stripEnd : (text: string) => text;
  const stdout = strip(decodeOutput(end.stdout, options.encoding)) + droppedNote(end);
  const stderr = strip(decodeOutput(end.stderr, options.encoding));
  const isSuccess =
    options.successRetcodes.includes(end.exitCode) ||
    options.successStdout.some((text) => stdout.includes(text)) ||
    options.successStderr.some((text) => stderr.includes(text));
  const result = { pid: end.pid, retcode: isSuccess ? 0 : end.exitCode, stdout, stderr };
  context.setRetcode(options.ignoresRetcode ? 0 : result.retcode);
  if (!options.isQuiet) logResult(context, cmd, options, result);
  return result;
}

function droppedNote({ droppedBytes }: CommandEnd): string {
  if (droppedBytes === 0) return "";
  return `\n[output cut: ${droppedBytes} bytes beyond the limit of ${commandOutputBytesMax} were dropped]`;
}

/** Logs a failure as an error, with all output of the command, whatever `output_loglevel` is. */
function logResult(context: CallContext, cmd: Value, options: CommandOptions, result: CommandResult): void {
  const isFailure = !options.ignoresRetcode && result.retcode !== 0;
  const write = isFailure ? context.log.error : context.log.debug;
  if (isFailure) write(failureText(cmd, result.retcode));
  if (result.stdout !== "") write(`stdout: ${result.stdout}`);
  if (result.stderr !== "") write(`stderr: ${result.stderr}`);
  if (result.retcode !== 0) write(`retcode: ${result.retcode}`);
}

export function failureText(cmd: Value, retcode: number | null): string {
  return `Command '${firstWord(cmd)}' failed with return code: ${strOf(retcode)}`;
}

function executionText(cmd: Value, options: CommandOptions, cwd: string): string {
  const quote = Array.isArray(cmd) ? "" : "'";
  const user = options.runas === undefined ? "" : `as user '${options.runas}' `;
  const group = options.group === undefined ? "" : `in group '${options.group}' `;
  return `Executing command ${quote}${firstWord(cmd)}${quote} ${user}${group}in directory '${cwd}'`;
}

/** Logs name a command by its first word only, because the rest may hold secrets. */
function firstWord(cmd: Value): string {
  if (Array.isArray(cmd)) return strOf(cmd[0] ?? null).trim();
  return strOf(cmd).trim().split(/\s+/)[0] ?? "";
}

function wordsOf(cmd: Value, options: CommandOptions): readonly [string, ...string[]] {
  const shell = options.shell ?? "/bin/sh";
  const given = Array.isArray(cmd) ? cmd.map(strOf) : undefined;
  if (options.isShellUsed) return [shell, "-c", ...(given ?? [strOf(cmd)])];
  const words = given ?? (options.shell === undefined ? [strOf(cmd)] : splitShellWords(strOf(cmd)));
  const [program = "", ...rest] = words;
  return [program, ...rest];
}

/** Throws the error of a command that did not start. Its text leaves out variables and input, because both may hold secrets. */
function refuseStart(error: unknown, command: Command, options: CommandOptions): never {
  if (!isFileError(error)) throw error;
  const shown = options.isQuiet ? "REDACTED" : reprOf([...command.argv]);
  const facts: ValueMap = new Map<string, Value>([
    ["cwd", command.cwd],
    ["shell", options.isShellUsed],
    ["stdout", -1],
    ["stderr", options.isMerged ? -2 : -1],
    ["with_communicate", true],
    ["timeout", options.timeout],
    ["bg", options.isBackground],
    ["close_fds", true],
  ]);
  const reason = `[Errno ${Math.abs(error.errno ?? 0)}] ${errorText(error)}: ${reprOf(command.argv[0])}`;
  throw commandError(`Unable to run command '${shown}' with the context '${reprOf(facts)}', reason: ${reason}`);
}

function errorText(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "No such file or directory";
  if (error.code === "EACCES") return "Permission denied";
  return error.code ?? error.message;
}

/** The home directory of the user that runs the command, or `/` if it cannot be read. */
function homeDirectory(identity: Identity | undefined, environment: Environment): string {
  const home = identity?.home ?? environment.HOME ?? "/";
  try {
    accessSync(home, constants.R_OK);
  } catch (error) {
    if (isFileError(error)) return "/";
    throw error;
  }
  return isDirectory(home) ? home : "/";
}

async function commandVariables(
  context: CallContext,
  environment: Environment,
  options: CommandOptions,
  identity: Identity | undefined,
): Promise<Record<string, string>> {
  const variables = new Map<string, string>();
  if (!options.isEnvironmentClean) {
    for (const [name, value] of Object.entries(environment)) if (value !== undefined) variables.set(name, value);
  }
  const own =
    identity === undefined ? new Map<string, string>() : await loginVariables(context, identity, options.shell);
  for (const [name, value] of options.variables) own.set(name, value);
  if (identity !== undefined) {
    own.set("USER", identity.name);
    own.set("HOME", identity.home);
  }
  if (options.isLocaleReset) for (const name of localeVariables) if (!own.has(name)) own.set(name, "C");
  if (!own.has("NOTIFY_SOCKET")) variables.delete("NOTIFY_SOCKET");
  for (const [name, value] of own) variables.set(name, value);
  if (options.prependPath !== undefined) {
    variables.set("PATH", [options.prependPath, variables.get("PATH")].filter((part) => part !== undefined).join(":"));
  }
  return Object.fromEntries(variables);
}
