/**
 * Loaded before everything else: until a daemon listens for SIGUSR1 itself, and in all other commands, the signal does nothing. Node.js alone would
 * open a debugger on it. Never removed, since Node's own way would come back with the last listener.
 */
process.on("SIGUSR1", () => undefined);
