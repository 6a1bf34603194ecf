/**
 * Standard error as the place of a log. A terminal that is gone, a full disk or a closed pipe loses lines, and the program goes on: an error that a
 * log call throws would end the work that only wanted to report something.
 */
import { writeSync } from "node:fs";
import { consoleLogWait } from "../../limits.ts";
import { CountedLines } from "./counted-lines.ts";

type Wait = { readonly tries: number; readonly ms: number };

/** `descriptor`: a file, a terminal or a pipe, which may be non-blocking. */
export function consoleLog(descriptor: number, wait: Wait = consoleLogWait): CountedLines {
  // Set while a reader does not read: the lines that follow are not waited for.
  let isStalled = false;
  let isWithinLine = false;
  const writeSome = (bytes: Buffer, offset: number): number => {
    for (let tries = 1; ; tries += 1) {
      try {
        const written = writeSync(descriptor, bytes, offset);
        isStalled = false;
        return written;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || isStalled) throw error;
        if (tries === wait.tries) {
          isStalled = true;
          throw error;
        }
        pause(wait.ms);
      }
    }
  };
  return new CountedLines((text) => {
    const bytes = Buffer.from(isWithinLine ? `\n${text}` : text);
    for (let offset = 0; offset < bytes.length; ) {
      offset += writeSome(bytes, offset);
      isWithinLine = offset < bytes.length;
    }
  });
}

/** Blocks the thread: log lines are written in their order, and before the process ends. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
