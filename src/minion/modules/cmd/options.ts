/** The options of `cmd.*` calls: checks Salt's keyword arguments and converts them for `cmd/run.ts`. */

import { strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError, invocationError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { readTemplateChoice, type TemplateChoice } from "../declare/text-template.ts";

export type CommandOptions = {
  /** Undefined: the home directory of the user that runs the command. */
  readonly cwd: string | undefined;
  readonly stdin: string | undefined;
  readonly runas: string | undefined;
  readonly group: string | undefined;
  /** Undefined: `/bin/sh`; if no shell is used, a text command is not split, but names the program. */
  readonly shell: string | undefined;
  readonly isShellUsed: boolean;
  readonly variables: ReadonlyMap<string, string>;
  readonly isEnvironmentClean: boolean;
  readonly isLocaleReset: boolean;
  readonly prependPath: string | undefined;
  readonly umask: string | undefined;
  readonly timeout: Value;
  readonly isStripped: boolean;
  readonly isMerged: boolean;
  readonly isBackground: boolean;
  readonly ignoresRetcode: boolean;
  readonly successRetcodes: readonly number[];
  readonly successStdout: readonly string[];
  readonly successStderr: readonly string[];
  readonly encoding: string | undefined;
  readonly template: TemplateChoice;
  /** `output_loglevel: quiet`: nothing of the command is logged, and `raise_err` has no effect. */
  readonly isQuiet: boolean;
};

/** Options that a `cmd` function sets itself. They replace the caller's. */
export type OptionChanges = Partial<Pick<CommandOptions, "isMerged" | "isBackground" | "isShellUsed" | "isStripped">>;

export function readOptions(context: CallContext, args: BoundArguments, changes: OptionChanges = {}): CommandOptions {
  const given = (name: string): Value | undefined => args.named[name] ?? args.extra.get(name);
  const get = (name: string): Value => given(name) ?? null;
  if (isTrue(get("use_vt"))) throw commandError("use_vt=True is not supported by this minion");
  const isBackground = changes.isBackground ?? isTrue(get("bg"));
  const text = (name: string) => (isTrue(get(name)) ? strOf(get(name)) : undefined);
  return {
    cwd: text("cwd"),
    stdin: get("stdin") === null || isBackground ? undefined : strOf(get("stdin")),
    runas: text("runas"),
    group: text("group"),
    shell: text("shell"),
    isShellUsed: changes.isShellUsed ?? usesShell(context, args, get("python_shell")),
    variables: readVariables(context, get("env")),
    isEnvironmentClean: isTrue(get("clean_env")),
    isLocaleReset: (given("reset_system_locale") ?? true) === true,
    prependPath: text("prepend_path"),
    umask: readUmask(get("umask")),
    timeout: get("timeout"),
    isStripped: changes.isStripped ?? isTrue(given("rstrip") ?? true),
    isMerged: changes.isMerged ?? false,
    isBackground,
    ignoresRetcode: isBackground || isTrue(get("ignore_retcode")),
    successRetcodes: readRetcodes(get("success_retcodes")),
    successStdout: splitList(get("success_stdout")).map(strOf),
    successStderr: splitList(get("success_stderr")).map(strOf),
    encoding: text("output_encoding"),
    template: readTemplateChoice(context, get),
    isQuiet: get("output_loglevel") === "quiet",
  };
}

/**
 * As in Salt, the argument `python_shell` decides. Without it, a job and `call` use the shell; a call from another function
 * uses it only with `cmd_safe: False`.
 */
function usesShell(context: CallContext, args: BoundArguments, pythonShell: Value): boolean {
  if (pythonShell !== null) return pythonShell === true;
  return isTrue(args.extra.get("__pub_jid") ?? null) || context.config.cmd_safe === false;
}

function readVariables(context: CallContext, env: Value): Map<string, string> {
  const given = Array.isArray(env) ? mapOfList(env) : env;
  const variables = new Map<string, string>();
  if (!(given instanceof Map)) return variables;
  for (const [key, value] of given) {
    const name = strOf(key);
    if (value === null)
      context.log.error(`Environment variable '${name}' passed without a value. It is set to an empty text`);
    variables.set(name, value === null ? "" : strOf(value));
  }
  return variables;
}

/** `[{A: 1}, {B: 2}, C]` as one map. A list with any other member is an empty map. */
function mapOfList(list: readonly Value[]): ValueMap {
  const result: ValueMap = new Map();
  for (const member of list) {
    if (member instanceof Map && member.size === 1) for (const [key, value] of member) result.set(key, value);
    else if (typeof member === "string" || typeof member === "number") result.set(member, null);
    else return new Map();
  }
  return result;
}

/** @returns octal digits */
function readUmask(value: Value): string | undefined {
  if (value === null) return undefined;
  const digits = strOf(value).replace(/^0+/, "");
  if (digits === "") throw commandError("Zero umask is not allowed.");
  if (!/^[0-7]+$/.test(digits)) throw commandError(`Invalid umask: '${strOf(value)}'`);
  return digits;
}

function readRetcodes(value: Value): number[] {
  if (value === null) return [0];
  try {
    return splitList(value).map(wholeNumber);
  } catch (cause) {
    throw Object.assign(invocationError("success_retcodes must be a list of integers"), { cause });
  }
}

/** Returns a list as it is. Splits the text of any other value at commas. */
function splitList(value: Value): Value[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value;
  return strOf(value)
    .split(",")
    .map((word) => word.trim());
}

/** The timeout in milliseconds; undefined without one. @throws if `timeout` is not a number */
export function timeoutMsOf(timeout: Value): number | undefined {
  if (!isTrue(timeout)) return undefined;
  const seconds = numberOf(timeout);
  if (seconds === undefined) {
    const name = "salt.exceptions.TimedProcTimeoutError";
    throw pythonException(name, `Error: timeout ${strOf(timeout)} must be a number`);
  }
  return Math.max(0, Math.min(seconds * 1_000, 2 ** 31 - 1));
}
