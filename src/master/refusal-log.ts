/** Refusals in the log (logins, connections to the event bus): one line a second at most, with how many there were, since anybody on the network can ask. */
import type { Logger } from "pino";
import { refusedLoginLogMs } from "../limits.ts";

export class RefusalLog {
  readonly #logger: Pick<Logger, "warn" | "error">;
  readonly #nowMs: () => number;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #untold = 0;

  constructor(logger: Pick<Logger, "warn" | "error">, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  note(fields: Readonly<Record<string, string>>, message: string, level: "warn" | "error" = "warn"): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#loggedMs < refusedLoginLogMs) {
      this.#untold += 1;
      return;
    }
    this.#logger[level](this.#untold > 0 ? { ...fields, othersBefore: this.#untold } : fields, message);
    this.#loggedMs = nowMs;
    this.#untold = 0;
  }
}
