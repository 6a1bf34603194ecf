/**
 * Ignores SIGUSR1 until a daemon listens for it, and in all other commands. Loaded first, because Node.js would open a debugger on this signal.
 * Never removed, because without any listener Node.js would open it again.
 */
process.on("SIGUSR1", () => undefined);
