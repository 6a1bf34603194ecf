/** Ends the process, even if a thread hangs: after an orderly shutdown, or at once. */
import koffi from "koffi";

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
    exitAtOnce(code);
  }, exitGraceMs).unref();
}

/**
 * `_exit(2)`: ends all threads where they are. `process.exit` waits for them, and one that is ended within a transaction of LMDB waits for its own
 * lock for ever.
 */
export function exitAtOnce(code: number): void {
  koffi.load(null).func("void _exit(int status)")(code);
}
