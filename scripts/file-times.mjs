// A reporter for node's test runner: how long the suites of each file took, and what they are called, as one line of JSON at the end.
export default async function* fileTimes(events) {
  const files = new Map();
  for await (const { type, data } of events) {
    if ((type !== "test:pass" && type !== "test:fail") || data.nesting !== 0 || data.file === undefined) continue;
    const entry = files.get(data.file) ?? { ms: 0, names: [] };
    entry.ms += data.details.duration_ms;
    entry.names.push(data.name);
    files.set(data.file, entry);
  }
  yield `${JSON.stringify([...files].map(([file, { ms, names }]) => ({ file, ms, names })))}\n`;
}
