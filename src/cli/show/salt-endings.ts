/** Salt's exit codes for commands that send jobs, and its sentences for jobs without results. */
export const saltExitCodes = { done: 0, failed: 1, nothingReturned: 2 } as const;

export const noMatchText = "No minions matched the target. No command was sent, no jid was assigned.";
/** For standard error. */
export const nothingText = "ERROR: No return received\n";
