/**
 * Logs refusals (logins, requests, connections to the event bus). Messages may hold a caller's text, so all
 * refusals of one instance share an allowance.
 */
import type { Logger } from "pino";
import { LineAllowance } from "./line-allowance.ts";
import { withoutSentenceLimit } from "./log-limit.ts";

export class RefusalLog {
  readonly #logger: Pick<Logger, "warn" | "error">;
  readonly #nowMs: () => number;
  readonly #allowance: LineAllowance;

  constructor(logger: Pick<Logger, "warn" | "error">, nowMs: () => number) {
    this.#logger = withoutSentenceLimit(logger);
    this.#nowMs = nowMs;
    this.#allowance = new LineAllowance(nowMs());
  }

  note(fields: Readonly<Record<string, string>>, message: string, level: "warn" | "error" = "warn"): void {
    const suppressed = this.#allowance.take(this.#nowMs());
    if (suppressed !== undefined) this.#logger[level](suppressed > 0 ? { ...fields, suppressed } : fields, message);
  }
}
