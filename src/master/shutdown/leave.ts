/** The end of the process behind an orderly shutdown, whatever its threads do. */

/** Time for the log to be written and threads to end after an orderly shutdown, milliseconds. */
const exitGraceMs = 2_000;

/**
 * @param hasStuckThread a thread stays in a call of the system: `process.exit` would wait for it, without end. Then the process
 * ends by a signal, on which a service manager starts it again as after any failure.
 */
export function leaveProcess(code: number, hasStuckThread: boolean): void {
  // A thread that is still alive would keep the process.
  setTimeout(() => {
    if (hasStuckThread) {
      process.kill(process.pid, "SIGKILL");
      // The first process of a container does not get its own signals; an abort ends it all the same.
      process.abort();
    }
    process.exit(code);
  }, exitGraceMs).unref();
}
