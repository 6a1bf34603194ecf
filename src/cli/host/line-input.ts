/**
 * Reads answers to questions from standard input, shown or hidden. The input keeps the process alive only while a line is awaited, so that a
 * command ends after the last answer even if the pipe stays open.
 */
import { StringDecoder } from "node:string_decoder";
import type { ReadStream } from "node:tty";

/** In raw mode the terminal passes these characters on and does not act on them. */
const keys = { interrupt: "\u0003", end: "\u0004", backspace: "\b", delete: "\u007f", eraseLine: "\u0015" } as const;

/** Only a terminal has `isTTY` and `setRawMode`. A file has neither `ref` nor `unref`. */
export type LineSource = NodeJS.ReadableStream & Partial<Pick<ReadStream, "isTTY" | "setRawMode" | "ref" | "unref">>;

export class LineInput {
  readonly #input: LineSource;
  /** Has the effect of Ctrl-C in raw mode, where the terminal sends no signal. */
  readonly #interrupt: () => void;
  readonly #decoder = new StringDecoder("utf8");
  /** Text that was read beyond the last awaited line. */
  #text = "";
  #isOver = false;

  constructor(input: LineSource, interrupt: () => void) {
    this.#input = input;
    this.#interrupt = interrupt;
  }

  /** @returns the line without its end; undefined at the end of input */
  async readLine(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n");
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      if (this.#isOver) return this.#rest();
      await this.#more();
    }
  }

  /** Reads a line like `readLine`, but a terminal does not show it. `output` gets the question and then the line end. */
  async readSecret(question: string, output: NodeJS.WritableStream): Promise<string | undefined> {
    const { isTTY, setRawMode } = this.#input;
    const isTerminal = isTTY === true && setRawMode !== undefined;
    // Sets raw mode before the question, because a program can answer it at once.
    if (isTerminal) setRawMode.call(this.#input, true);
    output.write(question);
    if (!isTerminal) return await this.readLine();
    try {
      return await this.#typedSecret();
    } finally {
      setRawMode.call(this.#input, false);
      output.write("\n");
    }
  }

  async #typedSecret(): Promise<string | undefined> {
    const typed: string[] = [];
    for (;;) {
      for (const character of this.#text) {
        this.#text = this.#text.slice(character.length);
        if (character === "\r" || character === "\n") return typed.join("");
        if (character === keys.end) {
          if (typed.length === 0) return undefined;
        } else if (character === keys.interrupt) {
          // The command can end here: the end of the process restores the terminal.
          this.#interrupt();
          return undefined;
        } else if (character === keys.backspace || character === keys.delete) typed.pop();
        else if (character === keys.eraseLine) typed.length = 0;
        else typed.push(character);
      }
      if (this.#isOver) return undefined;
      await this.#more();
    }
  }

  #rest(): string | undefined {
    const rest = this.#text;
    this.#text = "";
    return rest === "" ? undefined : rest;
  }

  /** Resolves when more text has been read or at the end of input. The input is paused before and after. */
  #more(): Promise<void> {
    const input = this.#input;
    return new Promise((resolve) => {
      const stop = (): void => {
        input.off("data", take).off("end", finish).off("close", finish).off("error", finish);
        input.pause();
        // Node.js reads ahead from a paused pipe, which would keep the process alive.
        input.unref?.();
        resolve();
      };
      const take = (part: Buffer | string): void => {
        this.#text += typeof part === "string" ? part : this.#decoder.write(part);
        stop();
      };
      // A read error, such as EIO of a closed terminal, counts as the end of input.
      const finish = (): void => {
        this.#isOver = true;
        stop();
      };
      input.on("data", take).on("end", finish).on("close", finish).on("error", finish);
      input.ref?.();
      input.resume();
    });
  }
}
