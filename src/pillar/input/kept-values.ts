/**
 * Keeps the values of short texts that were read lately. Most pillar files give every minion the same text, and a text is read twenty times slower
 * than its value is copied.
 */
import { keptTextCharsMax, keptTextsCharsMax } from "../../limits.ts";
import { asValue, type Value } from "../../wire/values.ts";

export class KeptValues {
  /** By text, least recently used first. */
  readonly #kept = new Map<string, Value>();
  #chars = 0;

  /** A copy of the text's value, which the caller may change. What `make` throws is not kept. */
  get(text: string, make: (text: string) => Value): Value {
    if (text.length > keptTextCharsMax) return make(text);
    const kept = this.#kept.get(text);
    const value = kept === undefined ? make(text) : kept;
    this.#kept.delete(text);
    this.#kept.set(text, value);
    if (kept === undefined) this.#chars += text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#chars <= keptTextsCharsMax) break;
      this.#kept.delete(oldest);
      this.#chars -= oldest.length;
    }
    return asValue(value);
  }
}
