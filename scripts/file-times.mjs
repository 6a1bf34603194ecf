// A reporter for node's test runner: prints at the end, as one line of JSON, the duration, the suites' names and the failures of each file.
import { inspect } from "node:util";

/** Characters of one failure. An assertion that compares large values would hide the other failures. */
const failureCharactersMax = 3_000;

function textOf(error) {
  const cause = error?.cause ?? error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
  return text.slice(0, failureCharactersMax);
}

export default async function* fileTimes(events) {
  const files = new Map();
  for await (const { type, data } of events) {
    if ((type !== "test:pass" && type !== "test:fail") || data.file === undefined) continue;
    const entry = files.get(data.file) ?? { ms: 0, names: [], isFailed: false, failures: [] };
    files.set(data.file, entry);
    const isFailure = type === "test:fail" && data.todo === undefined;
    // A suite fails because a test in it failed, which has its own entry.
    if (isFailure && data.details.error?.failureType !== "subtestsFailed")
      entry.failures.push({ name: data.name, text: textOf(data.details.error) });
    if (data.nesting !== 0) continue;
    entry.ms += data.details.duration_ms;
    entry.names.push(data.name);
    entry.isFailed ||= isFailure;
  }
  yield `${JSON.stringify([...files].map(([file, entry]) => ({ file, ...entry })))}\n`;
}
