// A reporter for node's test runner: prints at the end, as one line of JSON, the duration, the names and the failure of each file's suites.
export default async function* fileTimes(events) {
  const files = new Map();
  for await (const { type, data } of events) {
    if ((type !== "test:pass" && type !== "test:fail") || data.nesting !== 0 || data.file === undefined) continue;
    const entry = files.get(data.file) ?? { ms: 0, names: [], isFailed: false };
    entry.ms += data.details.duration_ms;
    entry.names.push(data.name);
    entry.isFailed ||= type === "test:fail" && data.todo === undefined;
    files.set(data.file, entry);
  }
  yield `${JSON.stringify([...files].map(([file, entry]) => ({ file, ...entry })))}\n`;
}
