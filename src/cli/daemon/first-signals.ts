/**
 * Ignores SIGUSR1: in daemons until they listen for it, in other commands always. Loaded first and never removed, because without a listener
 * Node.js opens a debugger on this signal.
 */
process.on("SIGUSR1", () => undefined);
