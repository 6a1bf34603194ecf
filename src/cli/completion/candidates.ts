/** Completes the last word of a command line from the option tables: commands, options, their values, minion ids, functions. */
import { completionCandidatesMax } from "../../limits.ts";
import { commandAbouts } from "../options/command-list.ts";
import type { AnyOption, CommandTable } from "../options/option.ts";
import { clusterWords, shells } from "../options/own-options.ts";
import { commands } from "../options/parse.ts";
import { outputterNames } from "../outputters/render.ts";

/** Names on this machine and in the program's registries. Lists can be empty. The functions never throw. */
export type Names = {
  /** Ids of keys in these states. `words` can name the configuration's directory. */
  minionIds(words: readonly string[], states: readonly string[]): readonly string[];
  nodegroups(words: readonly string[]): readonly string[];
  executionFunctions(): readonly string[];
  runnerFunctions(): readonly string[];
};

export type Candidate = { readonly word: string; readonly about: string };
/** `files` and `directories`: the shell completes the word itself. */
export type Completion = readonly Candidate[] | "files" | "directories";

type Options = ReadonlyMap<string, AnyOption>;

const anyKey = ["accepted", "pending", "rejected", "denied"];
const booleans = ["True", "False"];
const files: readonly string[] = ["FILE", "LOG_FILE", "OUTPUT_FILE", "SALTFILE", "PRIV", "PUB", "RESULT"];
const directories: readonly string[] = [
  ...["CACHEDIR", "CONFIG_DIR", "DIR", "FILE_ROOT", "GEN_KEYS_DIR", "MODULE_DIRS", "PILLAR_ROOT"],
  ...["SIGNATURE_PATH", "STATES_DIR", "VENV"],
];
/** Candidates by the metavar of an option. */
const fixedValues: { readonly [metavar: string]: readonly string[] } = {
  ARG: ["accepted", "unaccepted", "rejected", "denied", "all"],
  OUTPUT: outputterNames,
  STATE_OUTPUT: ["full", "terse", "mixed", "changes", "filter"],
  STATE_VERBOSE: booleans,
  ROTATE_AES_KEY: booleans,
  PRESERVE_MINIONS: booleans,
};
const keyStates: { readonly [metavar: string]: readonly string[] } = {
  ACCEPT: ["pending"],
  REJECT: ["pending"],
  DELETE: anyKey,
  PRINT: anyKey,
  FINGER: anyKey,
};

/** @param words after the program's name. The last word, possibly empty, is completed. */
export function complete(words: readonly string[], names: Names): Completion {
  const [command = "", ...rest] = words;
  const last = unquoted(words.at(-1) ?? "");
  if (rest.length === 0) return beginning(last, [...Object.entries(commandAbouts), ...programOptions]);
  if (command === "completion" && rest.length === 1 && !last.startsWith("-")) {
    return beginning(
      last,
      shells.map((shell) => [shell, ""]),
    );
  }
  if (command === "cluster" && rest.length === 1 && !last.startsWith("-"))
    return beginning(last, Object.entries(clusterWords));
  if (!isTabled(command)) return [];
  return new Line(command, commands[command], rest.slice(0, -1), last, names).complete();
}

const programOptions: readonly (readonly [string, string])[] = [
  ["--help", "Show the commands."],
  ["--version", "Show the version."],
  ["--versions-report", "Show the versions of what this program is made of."],
];

function isTabled(name: string): name is keyof typeof commands {
  return Object.hasOwn(commands, name);
}

/** Removes a leading quote, because shells pass a word as it was typed. */
function unquoted(word: string): string {
  return word.replace(/^['"]/, "");
}

function beginning(start: string, all: Iterable<readonly [word: string, about: string]>): Candidate[] {
  const found: Candidate[] = [];
  for (const [word, about] of all) {
    if (!word.startsWith(start)) continue;
    found.push({ word, about: about.split(/(?<=\.)\s/)[0] ?? "" });
    if (found.length === completionCandidatesMax) break;
  }
  return found;
}

class Line {
  readonly #command: keyof typeof commands;
  readonly #options: Options;
  readonly #former: readonly string[];
  readonly #last: string;
  readonly #names: Names;
  readonly #positionals: string[] = [];
  #isOver = false;
  /** The option whose value is the last word. */
  #pending: AnyOption | undefined;

  constructor(
    command: keyof typeof commands,
    table: CommandTable,
    former: readonly string[],
    last: string,
    names: Names,
  ) {
    this.#command = command;
    this.#former = former;
    this.#last = last;
    this.#names = names;
    const options = table.groups.flatMap((group) => Object.values(group.options));
    this.#options = new Map(options.flatMap((option) => option.names.map((name) => [name, option] as const)));
    for (const word of former) this.#pass(word);
  }

  complete(): Completion {
    if (this.#pending !== undefined) return this.#values(this.#pending, this.#last, "");
    if (this.#isOver || !this.#last.startsWith("-")) return this.#words();
    const equals = this.#last.indexOf("=");
    if (equals < 0) return this.#optionNames();
    const option = this.#options.get(this.#last.slice(0, equals));
    if (option === undefined || option.kind === "flag") return [];
    return this.#values(option, this.#last.slice(equals + 1), this.#last.slice(0, equals + 1));
  }

  #pass(word: string): void {
    if (this.#pending !== undefined) this.#pending = undefined;
    else if (word === "--" && !this.#isOver) this.#isOver = true;
    else if (this.#isOver || !word.startsWith("-") || word === "-") this.#positionals.push(word);
    else {
      // Short flags can be combined. Only the last of them takes a value.
      const name = word.startsWith("--") ? word : `-${word.at(-1)}`;
      const option = this.#options.get(name);
      if (option !== undefined && option.kind !== "flag") this.#pending = option;
    }
  }

  /** Long names end with `=` if they take a value. Short names are offered only after a single dash. */
  #optionNames(): Completion {
    const named = [...this.#options].filter(([name]) => name.startsWith("--") || !this.#last.startsWith("--"));
    return beginning(
      this.#last,
      named.map(([name, option]) => [
        name.startsWith("--") && option.kind !== "flag" ? `${name}=` : name,
        option.about,
      ]),
    );
  }

  #values({ choices, metavar }: AnyOption, start: string, prefix: string): Completion {
    if (files.includes(metavar)) return "files";
    if (directories.includes(metavar)) return "directories";
    const states = this.#command === "key" ? keyStates[metavar] : undefined;
    const words =
      states === undefined
        ? (fixedValues[metavar] ?? choices)
        : this.#names.minionIds([...this.#former, this.#last], states);
    return beginning(start, asPairs(words)).map(({ word, about }) => ({ word: prefix + word, about }));
  }

  #words(): Completion {
    const place = this.#positionals.length;
    switch (this.#command) {
      case "salt":
        if (place === 0) return this.#targets();
        return place === 1 ? this.#functions(this.#names.executionFunctions()) : [];
      case "cp":
        return place === 0 ? this.#targets() : "files";
      case "call":
        return place === 0 ? this.#functions(this.#names.executionFunctions()) : [];
      case "run":
        return place === 0 ? this.#functions(this.#names.runnerFunctions()) : [];
      case "bench":
        return place === 0
          ? beginning(this.#last, asPairs(["agent", "compare", "keys", "record", "report", "trend"]))
          : "files";
      default:
        return [];
    }
  }

  /** Candidates for a target. Only ids and nodegroups are known on this machine. */
  #targets(): Completion {
    const isGiven = (...names: string[]) => this.#former.some((word) => names.includes(word));
    if (isGiven("-N", "--nodegroup")) return beginning(this.#last, asPairs(this.#names.nodegroups(this.#former)));
    const others = ["-E", "--pcre", "-G", "--grain", "-P", "--grain-pcre", "-R", "--range", "-H", "--hosts"];
    if (isGiven(...others, "-I", "--pillar", "-J", "--pillar-pcre", "-S", "--ipcidr")) return [];
    const ids = this.#names.minionIds(this.#former, ["accepted"]);
    const comma = isGiven("-L", "--list") ? this.#last.lastIndexOf(",") + 1 : 0;
    const [head, tail] = [this.#last.slice(0, comma), this.#last.slice(comma)];
    return beginning(tail, asPairs(ids)).map(({ word, about }) => ({ word: head + word, about }));
  }

  /** Completes the last of several functions. */
  #functions(all: readonly string[]): Completion {
    const comma = this.#last.lastIndexOf(",") + 1;
    const [head, tail] = [this.#last.slice(0, comma), this.#last.slice(comma)];
    return beginning(tail, asPairs(all)).map(({ word, about }) => ({ word: head + word, about }));
  }
}

function* asPairs(words: Iterable<string>): Generator<readonly [string, string]> {
  for (const word of words) yield [word, ""];
}
