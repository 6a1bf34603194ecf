/** How commands that send jobs end: Salt's exit codes, and its words where nothing came of it. */
export const saltExitCodes = { done: 0, failed: 1, nothingReturned: 2 } as const;

export const noMatchText = "No minions matched the target. No command was sent, no jid was assigned.";
/** For standard error. */
export const nothingText = "ERROR: No return received\n";
