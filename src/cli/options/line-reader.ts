/**
 * Reads the options of one command line. Node's `parseArgs` splits it into tokens. This file adds the behaviour that Salt's users rely on:
 * abbreviated long options, values of every form, Salt's messages. Source: docs/compatibility.md, "Recorded command lines".
 */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearestNames } from "../../config/edit-distance.ts";
import { helpText, usageText } from "./help.ts";
import type { AnyOption, CommandTable } from "./option.ts";
import type { SaltfileSection } from "./saltfile.ts";

/** Exit code of a usage error. */
export const usageExitCode = 64;

/** The exact texts for standard output and standard error, with line ends. */
export type Answered = {
  readonly ok: false;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
};

export type ParseContext = {
  readonly version: string;
  /** The text of `-V`. */
  readonly versionsReport: () => string;
  /** The Saltfile's section for a program. `given` is the file on the command line. */
  readonly readSaltfile?: (program: string, given: string | undefined) => SaltfileSection | undefined;
  /** Width of the terminal, for help. */
  readonly columns?: number | undefined;
  /** The lines of standard input, for `--args-stdin`. */
  readonly readStdin: () => readonly string[];
};

export function usageError(command: CommandTable, message: string): Answered {
  const stderr = `${usageText(command)}${command.program}: error: ${message}\n`;
  return { ok: false, stdout: "", stderr, exitCode: usageExitCode };
}

/** A shorter name, dashes counted, gets no suggestion, because it resembles too many others. */
const suggestedLengthMin = 8;

type Shapes = NonNullable<ParseArgsConfig["options"]>;
type Known = { readonly key: string; readonly option: AnyOption };

export class LineReader {
  readonly values = new Map<string, boolean | string | number | readonly string[]>();
  readonly positionals: string[] = [];
  readonly #command: CommandTable;
  readonly #context: ParseContext;
  readonly #known = new Map<string, Known>();
  readonly #unavailable = new Map<string, string>();
  readonly #own = new Set<string>();

  constructor(command: CommandTable, context: ParseContext) {
    this.#command = command;
    this.#context = context;
    for (const group of command.groups) {
      for (const [key, option] of Object.entries(group.options)) {
        for (const name of option.names) this.#known.set(name, { key, option });
        if (group.isOwn) for (const name of option.names) this.#own.add(name);
      }
    }
    for (const names of command.unavailable) {
      for (const name of names)
        this.#unavailable.set(name, `option ${names.join("/")} is not available in this version`);
    }
  }

  /** Adds a line's values to those of earlier lines. An error, help or a version ends the reading and is returned. */
  read(argv: readonly string[]): Answered | undefined {
    const { tokens } = parseArgs({
      args: [...argv],
      options: this.#shapes(),
      strict: false,
      allowPositionals: true,
      tokens: true,
    });
    for (const token of tokens) {
      if (token.kind === "positional") this.positionals.push(token.value);
      if (token.kind !== "option") continue;
      const answer = this.#option(token.rawName, token.value, token.inlineValue === true);
      if (answer) return answer;
    }
    return undefined;
  }

  /** Every name, and every unambiguous beginning of a long name, because that is a valid abbreviation. */
  #shapes(): Shapes {
    const shapes: Shapes = {};
    for (const [name, { option }] of this.#known) {
      const type = option.kind === "flag" ? "boolean" : "string";
      if (!name.startsWith("--")) {
        shapes[`short ${name}`] = { type, short: name.slice(1) };
        continue;
      }
      for (let end = 3; end <= name.length; end += 1) {
        const start = name.slice(0, end);
        if (this.#meant(start).join() === name) shapes[start.slice(2)] = { type };
      }
    }
    return shapes;
  }

  /** The names that `name` can mean: itself; else all of Salt's that begin with it; else all of our own that do. */
  #meant(name: string): string[] {
    const names = [...this.#known.keys(), ...this.#unavailable.keys()];
    if (names.includes(name)) return [name];
    const meant = name.startsWith("--") ? names.filter((full) => full.startsWith(name)).sort() : [];
    const salts = meant.filter((full) => !this.#own.has(full));
    return salts.length > 0 ? salts : meant;
  }

  #option(given: string, value: string | undefined, isInline: boolean): Answered | undefined {
    const [name, ...others] = this.#meant(given);
    if (name === undefined) return this.#unknown(given);
    if (others.length > 0) return this.#error(`ambiguous option: ${given} (${[name, ...others].join(", ")}?)`);
    const known = this.#known.get(name);
    if (!known) return this.#error(this.#unavailable.get(name) ?? "");
    const { key, option } = known;
    if (option.kind === "flag") {
      if (isInline) return this.#error(`${name} option does not take a value`);
      this.values.set(key, true);
      return this.#request(key);
    }
    if (value === undefined) return this.#error(`${name} option requires 1 argument`);
    return this.#value(name, known, value);
  }

  #value(name: string, { key, option }: Known, value: string): Answered | undefined {
    if (option.kind === "int") {
      const number = parseInteger(value);
      if (number === undefined) return this.#error(`option ${name}: invalid integer value: '${value}'`);
      this.values.set(key, number);
      return undefined;
    }
    if (option.kind === "choice" && !option.choices.includes(value)) {
      const choices = option.choices.map((word) => `'${word}'`).join(", ");
      return this.#error(`option ${name}: invalid choice: '${value}' (choose from ${choices})`);
    }
    const former = this.values.get(key);
    this.values.set(key, option.kind === "texts" ? [...(Array.isArray(former) ? former : []), value] : value);
    return undefined;
  }

  #request(key: string): Answered | undefined {
    const { program } = this.#command;
    if (key === "isVersionsAsked") return shown(this.#context.versionsReport());
    if (key === "isHelpAsked") return shown(helpText(this.#command, this.#context.columns));
    return key === "isVersionAsked" ? shown(`${program} ${this.#context.version} (Saltworks)\n`) : undefined;
  }

  /** Salt's line, followed by the option that is probably meant. */
  #unknown(given: string): Answered {
    const [near] =
      given.startsWith("--") && given.length >= suggestedLengthMin ? nearestNames(given, this.#known.keys()) : [];
    const meant = near === undefined ? "" : `\nDid you mean ${near}?`;
    return this.#error(`no such option: ${given}${meant}`);
  }

  #error(message: string): Answered {
    return usageError(this.#command, message);
  }
}

function shown(stdout: string): Answered {
  return { ok: false, stdout, stderr: "", exitCode: 0 };
}

/** Reads a number as Python's optparse does: `0x`, `0b` and a leading zero choose the base, `_` may separate digits. */
function parseInteger(word: string): number | undefined {
  const text = word.trim().toLowerCase();
  if (!/^[-+]?[0-9a-fx]+(?:_[0-9a-f]+)*$/.test(text)) return undefined;
  const digits = text.replaceAll("_", "");
  const isDecimal = /^(?:[-+][0-9]+|0|[1-9][0-9]*)$/.test(digits);
  const literal = /^0[0-9]+$/.test(digits) ? `0o${digits}` : digits;
  const number = isDecimal ? Number.parseInt(digits, 10) : digits.startsWith("0") ? Number(literal) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
