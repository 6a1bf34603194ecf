/** Sentences that several callers show to operators, in Salt's words where Salt has one, and the error for a lost event bus. */
import { SaltworksError } from "../errors.ts";

/** For an event bus that closes during a job. */
const lostBusText =
  "The master closed its event bus, so it was stopped or restarted. Returns that it acknowledged are kept: look them up when it runs again.";

/** MASTER_UNREACHABLE for clients that follow the bus. `cause`: the error of the socket, if there is one. */
export function lostBus(cause?: Error): SaltworksError {
  return new SaltworksError("MASTER_UNREACHABLE", lostBusText, {}, cause === undefined ? {} : { cause });
}

/** Salt's words for a request without an answer. */
export const timedOutText =
  "Salt request timed out. The master is not responding. You may need to run your command with `--async` in order to bypass the congested event bus. With `--async`, the CLI tool will print the job id (jid) and exit immediately without listening for responses. You can then use `salt-run jobs.lookup_jid` to look up the results of the job in the job cache later.";
/** Salt's words for a user without permission. */
export const notPermittedText =
  "Failed to authenticate! This is most likely because this user is not permitted to execute commands, but there is a small possibility that a disk error occurred (check disk/inode usage).";
/** Salt's words for a master that does not run. */
export const notContactedText = "The salt master could not be contacted. Is master running?";
