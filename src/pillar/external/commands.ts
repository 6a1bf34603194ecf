/**
 * Sources `cmd_yaml` and `cmd_json`: a command's output is the pillar. Source: Salt 3007's modules of these names, observed.
 * `cmd_yaml` goes through a shell and `cmd_json` does not, as in Salt.
 */

import { shellWords } from "../../wire/shell-words.ts";
import type { Value } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import { loadYaml } from "../input/yaml.ts";
import { loadYamlex } from "../input/yamlex.ts";
import { readJson } from "../jinja/values/json.ts";
import { dataOf } from "../jinja/values/objects.ts";
import type { ExternalSource, SourceArguments, SourceContext } from "./contract.ts";

/** Placeholder in a command; the minion's id replaces it. */
const idMark = "%s";
/**
 * Ids without shell characters, that do not look like an option. Other ids are refused: quotes added here could
 * collide with the operator's quotes around `%s`.
 */
const plainId = /^[\p{L}\p{N}_][\p{L}\p{N}_.@:+=,-]*$/u;
/** Shells that take `-c`. For an account without a login, `SHELL` names another program. */
const shells = /^\/(?:.*\/)?(?:sh|bash|dash|ash|ksh|zsh)$/;

export function isPlainId(id: string): boolean {
  return plainId.test(id);
}

function commandText(args: SourceArguments, id: string): string {
  const command = args.get("command");
  if (typeof command !== "string") throw sourceFault("the command is not a text");
  if (!command.includes(idMark)) return command;
  if (isPlainId(id)) return command.replaceAll(idMark, () => id);
  throw sourceFault("the minion's id holds characters that a command must not be given", { isFatal: true });
}

export function shellOf(environment: Readonly<Record<string, string | undefined>>): string {
  const { SHELL: named = "" } = environment;
  return shells.test(named) ? named : "/bin/sh";
}

function wordsOf(command: string): readonly [string, ...string[]] {
  const words = shellWords(command);
  if ("fault" in words) throw sourceFault(words.fault);
  const [program, ...rest] = words;
  if (program === undefined) throw sourceFault("the command is empty");
  return [program, ...rest];
}

/** The command's output; undefined if the command ends with 0 and writes nothing. Throws if it fails and writes nothing. */
function outputOf({ outcome, note }: SourceContext): string | undefined {
  if (outcome === undefined) throw sourceFault("external pillar commands run only on a master");
  if ("fault" in outcome) throw sourceFault(outcome.fault, { isFatal: outcome.isFatal });
  if (!("stdout" in outcome)) throw sourceFault("the command left no output");
  const { stdout, exitCode, complaint } = outcome;
  // Salt strips the output too, so that a block scalar at its end has no line break.
  const text = stdout.trimEnd();
  if (exitCode !== 0) note(`the command ended with ${exitCode}${complaint === "" ? "" : `: ${complaint}`}`);
  if (text !== "") return text;
  if (exitCode !== 0) throw sourceFault(`the command ended with ${exitCode} and wrote nothing`);
  return undefined;
}

function read(format: "YAML" | "JSON", load: (text: string) => Value): ExternalSource["read"] {
  return (context) => {
    const text = outputOf(context);
    if (text === undefined) return null;
    try {
      return load(text);
    } catch (error) {
      // The error names neither the parser's message nor the output: minions see it, and both may hold secrets.
      context.note(`${format} data of the command failed to parse (${text.length} characters)`);
      throw Object.assign(sourceFault(`${format} data of the command failed to parse`), { cause: error });
    }
  };
}

const ofCommand = { parameters: ["command"], requiredCount: 1, isForMinions: false } as const;

export const cmdYaml: ExternalSource = {
  ...ofCommand,
  command: (args, { id }, shell) => ({ argv: [shell, "-c", commandText(args, id)] }),
  read: read("YAML", loadYaml),
};

export const cmdYamlex: ExternalSource = { ...cmdYaml, read: read("YAML", loadYamlex) };

export const cmdJson: ExternalSource = {
  ...ofCommand,
  command: (args, { id }) => ({ argv: wordsOf(commandText(args, id)) }),
  read: read("JSON", (text) => dataOf(readJson(text))),
};
