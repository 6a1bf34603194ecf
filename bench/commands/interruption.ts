/** Ctrl-C in a long run: the first one stops the run and shows the results so far, the second one ends the program. */
import type { Host } from "../../src/cli/host/host.ts";

/** The exit code that a shell gives a program that SIGINT ended. */
const interruptedExitCode = 130;

export class Interruption {
  readonly exitCode = interruptedExitCode;
  readonly #controller = new AbortController();
  readonly #ignore: () => void;

  constructor(host: Host) {
    this.#ignore = host.onInterrupt(() => {
      // Masters that still run end with this process.
      if (this.signal.aborted) process.exit(interruptedExitCode);
      host.complain("\nStopping; what is known so far follows. Once more ends it at once.\n");
      this.#controller.abort();
    }, ["SIGINT", "SIGTERM", "SIGHUP"]);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on a signal ends the process again. */
  end(): void {
    this.#ignore();
  }
}
