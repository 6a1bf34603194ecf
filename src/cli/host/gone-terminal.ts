/**
 * At its end Node.js gives terminals among its standard streams their former settings, and aborts if that fails, as it does for a terminal that is
 * gone. So such a stream becomes /dev/null first: Node.js leaves descriptors alone that name another file than at the start.
 */
import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/** A terminal that has hung up no longer counts as one. */
function leaveGoneTerminals(): void {
  for (const descriptor of terminals) {
    if (isatty(descriptor)) continue;
    closeSync(descriptor);
    // The system gives the lowest free number, which is the one just closed.
    openSync("/dev/null", "r+");
  }
}

if (terminals.length > 0) process.on("exit", leaveGoneTerminals);
