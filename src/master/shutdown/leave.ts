/** Ends the process after an orderly shutdown, even if a thread hangs. */

/** Time for the log to be written and threads to end after an orderly shutdown, milliseconds. */
const exitGraceMs = 2_000;

/**
 * @param hasStuckThread a thread hangs in a system call, for which `process.exit` would wait for ever. The process then ends by a signal,
 * after which a service manager starts it again.
 */
export function leaveProcess(code: number, hasStuckThread: boolean): void {
  // A thread that is still alive would keep the process.
  setTimeout(() => {
    if (hasStuckThread) {
      process.kill(process.pid, "SIGKILL");
      // The first process of a container does not get its own signals, but an abort ends it.
      process.abort();
    }
    process.exit(code);
  }, exitGraceMs).unref();
}
