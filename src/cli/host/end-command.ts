/** Ends the process of a command when all of its output is written. */

/** Daemons end by themselves, when all that they have opened is closed. */
const daemons: ReadonlySet<string | undefined> = new Set(["master", "minion"]);

/**
 * Ends the process, so that native modules are not unloaded first: ZeroMQ would wait for its threads, and warn on standard error if that takes
 * half a second, as on a busy machine. All requests have their answers by then.
 */
export async function endCommand(name: string | undefined, exitCode: number): Promise<void> {
  process.exitCode = exitCode;
  if (daemons.has(name)) return;
  await Promise.all([process.stdout, process.stderr].map(written));
  process.exit();
}

/** A stream that has failed counts as written. Nothing waits for a terminal that took all: even the write of nothing fails at one that is gone. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.isTTY && stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}
