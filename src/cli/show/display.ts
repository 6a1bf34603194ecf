/** Shows values with the operator's choice of outputter, colours and file. Source: docs/compatibility.md, "Outputters". */
import { appendFileSync, closeSync, openSync } from "node:fs";
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { stripEnd } from "../../python/text.ts";
import type { Value } from "../../wire/values.ts";
import type { Host } from "../host/host.ts";
import { isOutputter, type OutputOptions, renderOutput, unknownOutputterText } from "../outputters/render.ts";
import type { RenderInPython } from "./python-outputters.ts";

export type DisplayChoice = {
  /** `--out`. Wins over a minion's suggestion. */
  readonly outputter: string | undefined;
  /** `output` of the configuration. As in Salt it also wins over a minion's suggestion. */
  readonly configuredOutputter?: string | undefined;
  /** Used if neither options nor configuration nor minion name an outputter. */
  readonly defaultOutputter: string;
  readonly indent: OutputOptions["indent"];
  readonly states: OutputOptions["states"];
  readonly table?: OutputOptions["table"];
  readonly file: string | undefined;
  readonly isAppending: boolean;
  /** Renders with an outputter that is not built here. */
  readonly renderInPython?: RenderInPython | undefined;
  /** Undefined: colours only on a terminal, unless NO_COLOR is set. */
  readonly isColoured: boolean | undefined;
};

export class Display {
  readonly #choice: DisplayChoice;
  readonly #host: Host;
  /** Gets the message about an unknown outputter. If undefined, standard error gets it. */
  readonly #log: Pick<Logger, "error"> | undefined;
  readonly #isColoured: boolean;

  /**
   * Empties the output file, unless output is appended, and keeps its permissions.
   *
   * @throws SaltworksError USAGE if the file cannot be written: before the job is sent, so that no results are lost
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

  /** Whether the command line or the configuration names an outputter. */
  get isOutputterChosen(): boolean {
    return (this.#choice.outputter ?? this.#choice.configuredOutputter) !== undefined;
  }

  /** Shows one document. `suggested`: the outputter that came with the value. */
  show(value: Value, suggested?: string, retcode = 0, isOrdered = false): void {
    const { outputter, configuredOutputter, defaultOutputter, indent, states, table } = this.#choice;
    const asked = outputter ?? configuredOutputter ?? suggested ?? defaultOutputter;
    const options = {
      colour: this.#isColoured,
      retcode,
      isOrdered,
      ...(indent === undefined ? {} : { indent }),
      ...(states === undefined ? {} : { states }),
      ...(table === undefined ? {} : { table }),
    };
    const text = this.#inPython(asked, value, options) ?? renderOutput(this.#known(asked), value, options);
    if (text !== "") this.#print(`${text}\n`);
  }

  /** Writes a line of the command itself. As in Salt, it goes to standard output even if results go to a file. */
  line(text: string): void {
    this.#host.write(`${text}\n`);
  }

  /** Undefined for outputters that are built here, and without one in Python. */
  #inPython(name: string, value: Value, options: OutputOptions): string | undefined {
    if (isOutputter(name) || name === "grains") return undefined;
    const text = this.#choice.renderInPython?.(name, value, options);
    return text === undefined ? undefined : stripEnd(text);
  }

  #known(name: string): string {
    if (isOutputter(name)) return name;
    // Old minions suggest `grains`. It means `nested` and needs no message.
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
