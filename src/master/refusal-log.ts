/** Refusals in the log (logins, connections to the event bus): a few at once, then one line a second, with how many there were, since anybody on the network can ask. */
import type { Logger } from "pino";
import { logBurstLines, refusedLoginLogMs } from "../limits.ts";

export class RefusalLog {
  readonly #logger: Pick<Logger, "warn" | "error">;
  readonly #nowMs: () => number;
  #lines = logBurstLines;
  #countedMs = Number.NEGATIVE_INFINITY;
  #untold = 0;

  constructor(logger: Pick<Logger, "warn" | "error">, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  note(fields: Readonly<Record<string, string>>, message: string, level: "warn" | "error" = "warn"): void {
    const nowMs = this.#nowMs();
    this.#lines = Math.min(logBurstLines, this.#lines + (nowMs - this.#countedMs) / refusedLoginLogMs);
    this.#countedMs = nowMs;
    if (this.#lines < 1) {
      this.#untold += 1;
      return;
    }
    this.#lines -= 1;
    this.#logger[level](this.#untold > 0 ? { ...fields, othersBefore: this.#untold } : fields, message);
    this.#untold = 0;
  }
}
