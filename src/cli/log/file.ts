/**
 * A log file that logrotate may move while it is written. Lines go to a new file after `reopen`, and also once another file lies at the path,
 * as in Salt. On a full disk lines are lost and counted, and the program goes on.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { isMoved } from "../../config/files/moved.ts";
import { logFileLookMs } from "../../limits.ts";
import { CountedLines } from "./counted-lines.ts";

const mode = 0o640;

export class LogFile {
  readonly #path: string;
  readonly #lines: CountedLines;
  #descriptor: number;
  #lookedMs = 0;

  /** @throws the system's error if the file cannot be opened */
  constructor(path: string, complain: (text: string) => void) {
    this.#path = path;
    this.#lines = new CountedLines(
      (text) => this.#append(text),
      (error) => complain(`${path} cannot be written: ${error.message}\n`),
    );
    this.#descriptor = openSync(path, "a", mode);
  }

  write(line: string): void {
    this.#follow();
    this.#lines.write(line);
  }

  /** @returns the error if lines still go to the moved file */
  reopen(): Error | undefined {
    try {
      const descriptor = openSync(this.#path, "a", mode);
      closeSync(this.#descriptor);
      this.#descriptor = descriptor;
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  #append(line: string): void {
    const bytes = Buffer.from(line);
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(this.#descriptor, bytes, offset);
  }

  #follow(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < logFileLookMs) return;
    this.#lookedMs = nowMs;
    if (isMoved(this.#descriptor, this.#path)) this.reopen();
  }
}
