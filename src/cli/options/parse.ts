/**
 * Parses a command line into options and words, or into help, a version or a usage error.
 * Source: docs/compatibility.md, "Recorded command lines".
 */
import { isJid } from "../../wire/jid.ts";
import { wordsExitCode } from "../args/functions.ts";
import { benchCommand, sizeCommand, tuneCommand } from "./bench-options.ts";
import { callCommand } from "./call-options.ts";
import { cpCommand } from "./cp-options.ts";
import { apiCommand, masterCommand, minionCommand, witnessCommand } from "./daemon-options.ts";
import { helpText } from "./help.ts";
import { keyCommand, keyFault } from "./key-options.ts";
import { type Answered, LineReader, type ParseContext, usageError } from "./line-reader.ts";
import { type CommandTable, mainName, type OptionTable, type ValuesOf } from "./option.ts";
import { checkCommand, checkStoreCommand, clusterCommand, completionCommand } from "./own-options.ts";
import { runCommand } from "./run-options.ts";
import { saltCommand } from "./salt-options.ts";
import { applySaltfile } from "./saltfile.ts";
import { topCommand } from "./top-options.ts";

export type { Answered } from "./line-reader.ts";

export const commands = {
  salt: saltCommand,
  key: keyCommand,
  run: runCommand,
  call: callCommand,
  cp: cpCommand,
  master: masterCommand,
  minion: minionCommand,
  api: apiCommand,
  cluster: clusterCommand,
  witness: witnessCommand,
  top: topCommand,
  check: checkCommand,
  "check-store": checkStoreCommand,
  bench: benchCommand,
  tune: tuneCommand,
  size: sizeCommand,
  completion: completionCommand,
} as const;
export type CommandName = keyof typeof commands;
export type OptionsOf<C extends CommandName> =
  (typeof commands)[C] extends CommandTable<infer T extends OptionTable> ? ValuesOf<T> : never;

export type Understood<C extends CommandName> = {
  readonly ok: true;
  readonly options: OptionsOf<C>;
  readonly positionals: readonly string[];
};
export function parseCommandLine<C extends CommandName>(
  name: C,
  argv: readonly string[],
  context: ParseContext,
): Understood<C> | Answered {
  const command: CommandTable = commands[name];
  const reader = new LineReader(command, context);
  let answer = reader.read(argv);
  if (!answer && reader.values.get("isStdinRead") === true) answer = reader.read(context.readStdin());
  answer ??= readSaltfile(command, reader, context);
  answer ??= checkExclusions(command, reader.values) ?? checks[name]?.(command, reader, context);
  if (answer) return answer;
  const options: Record<string, unknown> = {};
  for (const group of command.groups) {
    for (const [key, option] of Object.entries(group.options)) {
      options[key] = reader.values.get(key) ?? (option.kind === "flag" ? false : undefined);
    }
  }
  return { ok: true, options: options as OptionsOf<C>, positionals: reader.positionals };
}

function readSaltfile(command: CommandTable, { values }: LineReader, context: ParseContext): Answered | undefined {
  const given = values.get("saltfile");
  const read = context.readSaltfile?.(command.program, typeof given === "string" ? given : undefined);
  const fault = read === undefined ? undefined : applySaltfile(command, values, read);
  return fault === undefined ? undefined : usageError(command, fault);
}

function checkExclusions(command: CommandTable, values: ReadonlyMap<string, unknown>): Answered | undefined {
  for (const group of command.groups.filter(({ isExclusive }) => isExclusive)) {
    const given = Object.entries(group.options).filter(([key]) => values.has(key));
    if (given.length < 2) continue;
    const names = given.map(([, option]) => mainName(option)).join("/");
    return usageError(command, `The options ${names} are mutually exclusive. Please only choose one of them`);
  }
  return undefined;
}

type Check = (command: CommandTable, reader: LineReader, context: ParseContext) => Answered | undefined;

/** Checks a command's words and values after all options have been read. */
const checks: Readonly<Partial<Record<CommandName, Check>>> = {
  salt(command, { positionals, values }, { columns }) {
    if (values.has("isConfigDumped")) return undefined;
    if (values.has("isDocAsked")) return docFault(command, positionals);
    const subset = values.get("subset");
    if (typeof subset === "number" && subset < 0) {
      return usageError(command, `option --subset: ${subset} minions cannot be chosen; give a number from 1 on`);
    }
    const wordsMin = values.has("isPreviewAsked") || values.has("isExplainAsked") ? 1 : 2;
    if (positionals.length >= wordsMin) return undefined;
    const missing =
      positionals.length === 0 ? "Cannot execute command without defining a target." : "Incomplete options passed.";
    return { ok: false, stdout: helpText(command, columns), stderr: `\n${missing}\n\n`, exitCode: wordsExitCode };
  },
  key(command, { values, positionals }) {
    const fault = keyFault(values, positionals);
    return fault === undefined ? undefined : usageError(command, fault);
  },
  run(command, { positionals, values }) {
    if (values.has("isDocAsked") && positionals.length > 1) {
      return usageError(command, "You can only get documentation for one method at one time");
    }
    const jid = values.get("jid");
    return typeof jid === "string" && !isJid(jid) ? usageError(command, `'${jid}' is not a valid JID`) : undefined;
  },
  cp(command, { positionals }, { columns }) {
    if (positionals.length > 2) return undefined;
    return { ...usageError(command, "Insufficient arguments"), stdout: helpText(command, columns) };
  },
  call(command, { positionals, values }, { columns }) {
    if (positionals.length > 0 && values.has("isGrainsAsked")) {
      return usageError(command, "-g/--grains does not accept any arguments");
    }
    if (positionals.length > 1 && values.has("isDocAsked")) {
      return usageError(command, "You can only get documentation for one method at one time");
    }
    if (positionals.length > 0 || values.has("isGrainsAsked") || values.has("isDocAsked")) return undefined;
    return { ...usageError(command, "Requires function, --grains or --doc"), stdout: helpText(command, columns) };
  },
};

/** Accepts a target, an optional word `sys.doc` and one function or module. Returns the usage error for more words. */
function docFault(command: CommandTable, positionals: readonly string[]): Answered | undefined {
  const wordsMax = positionals[1] === "sys.doc" ? 3 : 2;
  if (positionals.length <= wordsMax) return undefined;
  return usageError(command, "You can only get documentation for one method at one time.");
}
