/** What Python wrote since the last look, for the log of the main thread. */
import { logItemsMax } from "../limits.ts";

/** Lines for the log, up to a bound. */
export class Complaints {
  #lines: string[] = [];

  add(text: string): void {
    if (this.#lines.length < logItemsMax) this.#lines.push(text);
  }

  take(): readonly string[] {
    const taken = this.#lines;
    this.#lines = [];
    return taken;
  }
}
