/**
 * Lines of standard input: answers to questions, shown as they are typed or hidden. The input holds the process only while a line is
 * awaited, so that a command ends after the last answer whatever the terminal or pipe behind it does.
 */
import { StringDecoder } from "node:string_decoder";
import type { ReadStream } from "node:tty";

/** In raw mode the terminal hands these over instead of acting on them. */
const keys = { interrupt: "\u0003", end: "\u0004", backspace: "\b", delete: "\u007f", eraseLine: "\u0015" } as const;

/** `isTTY` and `setRawMode` are a terminal's; a file has neither `ref` nor `unref`. */
export type LineSource = NodeJS.ReadableStream & Partial<Pick<ReadStream, "isTTY" | "setRawMode" | "ref" | "unref">>;

export class LineInput {
  readonly #input: LineSource;
  /** Does what Ctrl-C does where the terminal does not send the signal itself. */
  readonly #interrupt: () => void;
  readonly #decoder = new StringDecoder("utf8");
  /** What has been read and belongs to no line that was asked for. */
  #text = "";
  #isOver = false;

  constructor(input: LineSource, interrupt: () => void) {
    this.#input = input;
    this.#interrupt = interrupt;
  }

  /** @returns the line without its end; undefined when there is no more */
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

  /** The same for a secret: a terminal does not show what is typed. `output` gets the question and, as the terminal does not, the line's end. */
  async readSecret(question: string, output: NodeJS.WritableStream): Promise<string | undefined> {
    const { isTTY, setRawMode } = this.#input;
    const isTerminal = isTTY === true && setRawMode !== undefined;
    // Before the question: a program that sees it may type at once.
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
          // First: the command may end here, and the terminal is then given back by the process's end.
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

  /** Resolves when something more has been read, or when there is no more; the input rests before and after. */
  #more(): Promise<void> {
    const input = this.#input;
    return new Promise((resolve) => {
      const stop = (): void => {
        input.off("data", take).off("end", finish).off("close", finish).off("error", finish);
        input.pause();
        // A pipe reads ahead even while it is paused, and would hold the process.
        input.unref?.();
        resolve();
      };
      const take = (part: Buffer | string): void => {
        this.#text += typeof part === "string" ? part : this.#decoder.write(part);
        stop();
      };
      // An error of reading, such as EIO of a terminal that is gone, is the end of what can be read.
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
