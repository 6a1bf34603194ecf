/** A line that is typed at a terminal without being shown: passwords. */
import type { ReadStream, WriteStream } from "node:tty";

const keys = { interrupt: "\u0003", end: "\u0004", backspace: "\b", delete: "\u007f" } as const;

/** @returns undefined if there is no more to read */
export function readHidden(input: ReadStream, output: WriteStream): Promise<string | undefined> {
  return new Promise((resolve) => {
    const typed: string[] = [];
    const finish = (line: string | undefined) => {
      input.off("data", take).off("end", atEnd).setRawMode(false).pause();
      output.write("\n");
      resolve(line);
    };
    const atEnd = () => finish(undefined);
    const take = (part: Buffer) => {
      for (const character of part.toString("utf8")) {
        if (character === "\r" || character === "\n") return finish(typed.join(""));
        if (character === keys.end && typed.length === 0) return finish(undefined);
        if (character === keys.interrupt) {
          finish(undefined);
          // In raw mode the terminal does not send the signal itself.
          process.kill(process.pid, "SIGINT");
          return;
        }
        if (character === keys.backspace || character === keys.delete) typed.pop();
        else typed.push(character);
      }
    };
    input.setRawMode(true).on("data", take).on("end", atEnd).resume();
  });
}
