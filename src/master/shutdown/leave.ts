/** Ends the process after an orderly shutdown, even if a thread hangs. */

/** Milliseconds for the log to be written and for threads to end after an orderly shutdown. */
const exitGraceMs = 2_000;

/**
 * @param hasStuckThread a thread hangs in a system call, so `process.exit` would wait for ever. The process then ends itself with SIGKILL,
 * and a service manager starts it again.
 */
export function leaveProcess(code: number, hasStuckThread: boolean): void {
  // Ends the process even if a thread is still alive.
  setTimeout(() => {
    if (hasStuckThread) {
      process.kill(process.pid, "SIGKILL");
      // PID 1 of a container does not receive SIGKILL from itself, but an abort ends it.
      process.abort();
    }
    process.exit(code);
  }, exitGraceMs).unref();
}
