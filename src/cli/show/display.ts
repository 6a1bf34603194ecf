/** Shows values as the operator chose: outputter, colours, file. Source: docs/compatibility.md, outputters. */
import { appendFileSync, closeSync, openSync } from "node:fs";
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import type { Value } from "../../wire/values.ts";
import type { Host } from "../host/host.ts";
import { isOutputter, type OutputOptions, renderOutput, unknownOutputterText } from "../outputters/render.ts";

export type DisplayChoice = {
  /** `--out`; wins over what a minion suggests. */
  readonly outputter: string | undefined;
  /** `output` of the configuration: as in Salt it goes before what a minion suggests, too. */
  readonly configuredOutputter?: string | undefined;
  /** Used where nobody says anything. */
  readonly defaultOutputter: string;
  readonly indent: OutputOptions["indent"];
  readonly states: OutputOptions["states"];
  readonly table?: OutputOptions["table"];
  readonly file: string | undefined;
  readonly isAppending: boolean;
  /** Undefined: colours on a terminal, unless NO_COLOR is set. */
  readonly isColoured: boolean | undefined;
};

export class Display {
  readonly #choice: DisplayChoice;
  readonly #host: Host;
  /** Where there is one it decides what is said about an unknown outputter. */
  readonly #log: Pick<Logger, "error"> | undefined;
  readonly #isColoured: boolean;

  /**
   * Empties the output file, keeping its permissions.
   *
   * @throws SaltworksError USAGE if it cannot be written: before a job is sent whose results would be lost
   */
  constructor(choice: DisplayChoice, host: Host, log?: Pick<Logger, "error">) {
    this.#choice = choice;
    this.#host = host;
    this.#log = log;
    // An empty NO_COLOR counts as not set: https://no-color.org.
    this.#isColoured = choice.isColoured ?? (host.isTerminal && (host.environment.NO_COLOR ?? "") === "");
    const { file, isAppending } = choice;
    if (file !== undefined) reported(file, "USAGE", () => closeSync(openSync(file, isAppending ? "a" : "w")));
  }

  /** Whether the operator named an outputter, here or in the configuration. */
  get isOutputterChosen(): boolean {
    return (this.#choice.outputter ?? this.#choice.configuredOutputter) !== undefined;
  }

  /** One document. `suggested`: the outputter that comes with the value. */
  show(value: Value, suggested?: string, retcode = 0, isOrdered = false): void {
    const { outputter, configuredOutputter, defaultOutputter, indent, states, table } = this.#choice;
    const name = this.#known(outputter ?? configuredOutputter ?? suggested ?? defaultOutputter);
    const text = renderOutput(name, value, {
      colour: this.#isColoured,
      retcode,
      isOrdered,
      ...(indent === undefined ? {} : { indent }),
      ...(states === undefined ? {} : { states }),
      ...(table === undefined ? {} : { table }),
    });
    if (text !== "") this.#print(`${text}\n`);
  }

  /** A line of the command itself: always to standard output, as Salt does. */
  line(text: string): void {
    this.#host.write(`${text}\n`);
  }

  #known(name: string): string {
    if (isOutputter(name)) return name;
    // Old minions suggest `grains`, which is nested and needs no word.
    if (name === "grains") return "nested";
    if (this.#log === undefined) this.#host.complain(`[ERROR   ] ${unknownOutputterText(name)}\n`);
    else this.#log.error(unknownOutputterText(name));
    return "nested";
  }

  #print(text: string): void {
    const { file } = this.#choice;
    if (file === undefined) this.#host.write(text);
    else reported(file, "STORE_FAILED", () => appendFileSync(file, text));
  }
}

function reported(file: string, code: "USAGE" | "STORE_FAILED", step: () => void): void {
  try {
    step();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SaltworksError(code, `the output file cannot be written: ${why}`, { file }, { cause: error });
  }
}
