/** Writes errors as Python tracebacks: operators see them in the return of a function that failed. */
import { fileURLToPath } from "node:url";
import type { SaltworksError } from "../errors.ts";

/** Python's exception for each kind of error in src/minion/functions/errors.ts. */
const pythonNames: { readonly [kind: string]: string } = {
  command: "salt.exceptions.CommandExecutionError",
  "not-found": "salt.exceptions.CommandNotFoundError",
  invocation: "salt.exceptions.SaltInvocationError",
  type: "TypeError",
};

const framePattern = /^\s+at (?:async )?(?:(.+?) \()?((?:file:\/\/)?[^()\s]+):(\d+):\d+\)?$/;

/** The whole traceback; ends with a line feed, as in Python. */
export function tracebackOf(error: unknown): string {
  return `Traceback (most recent call last):\n${framesOf(error).join("")}${summaryOf(error)}\n`;
}

/** The last line: the exception's name and text. */
export function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return `Exception: ${String(error)}`;
  const name = nameOf(error);
  return error.message === "" ? name : `${name}: ${error.message}`;
}

function nameOf(error: Error): string {
  if (!("detail" in error)) return error.name;
  const { kind, name } = (error as SaltworksError).detail;
  if (kind === "python" && typeof name === "string") return name;
  return (typeof kind === "string" ? pythonNames[kind] : undefined) ?? error.name;
}

/** One text for each frame; as in Python, the innermost is last. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  const frames: string[] = [];
  for (const line of error.stack.split("\n")) {
    const match = framePattern.exec(line);
    if (match === null) continue;
    const [, name = "<module>", place = "", lineNumber] = match;
    if (place.startsWith("node:")) continue;
    const file = place.startsWith("file://") ? fileURLToPath(place) : place;
    frames.unshift(`  File "${file}", line ${lineNumber}, in ${name}\n`);
  }
  return frames;
}
