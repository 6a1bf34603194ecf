/** Cache of parsed targets: clients repeat a few targets, and compiling a regular expression takes longer than matching it. */
import { parsedTargetLengthMax, parsedTargetsMax } from "../limits.ts";
import { parseTarget, type Target } from "./parse.ts";

export class ParsedTargets {
  readonly #targets = new Map<string, Target>();

  /** As `parseTarget`. @throws SaltworksError TARGET_INVALID, on each call */
  parse(kind: string, expression: string | readonly string[], delimiter: string): Target {
    if (typeof expression !== "string" || expression.length > parsedTargetLengthMax) {
      return parseTarget(kind, expression, delimiter);
    }
    const name = [kind, delimiter, expression].join("\0");
    const target = this.#targets.get(name) ?? parseTarget(kind, expression, delimiter);
    this.#targets.delete(name);
    this.#targets.set(name, target);
    if (this.#targets.size > parsedTargetsMax) {
      const [oldest = ""] = this.#targets.keys();
      this.#targets.delete(oldest);
    }
    return target;
  }
}
