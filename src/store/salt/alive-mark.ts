/**
 * A file whose time is the last moment at which this master may have written into Salt's directories. A Salt master wrote newer files there.
 * If the mark is missing, a Salt master wrote all files there. Its text lists the parts of Salt that were found.
 */
import { readFileSync, statSync, utimesSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { aliveMarkMarginMs } from "../../limits.ts";
import { replaceDurably } from "../disk/durable-file.ts";
import { storeFailed } from "../disk/store-error.ts";

const fileMode = 0o600;

export class AliveMark {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** This master wrote no file after this time, milliseconds since 1970. 0 without the mark. */
  get sinceMs(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  get text(): string {
    try {
      return readFileSync(this.#path, "utf8");
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return "";
      throw error;
    }
  }

  /** Sets text and time. */
  set(text: string): void {
    try {
      replaceDurably(this.#path, text, fileMode);
    } catch (error) {
      throw storeFailed(`${this.#path} cannot be written`, error);
    }
    this.touch();
  }

  /** Sets the time `aliveMarkMarginMs` ahead, for the writes until the next `touch`. Does nothing if the mark is missing. */
  touch(): void {
    this.#setTime(Date.now() + aliveMarkMarginMs);
  }

  /** Sets the time to `ms`: this master writes nothing from then on. */
  end(ms: number = Date.now()): void {
    this.#setTime(ms);
  }

  #setTime(ms: number): void {
    try {
      utimesSync(this.#path, ms / 1_000, ms / 1_000);
    } catch (error) {
      if (!hasCodeIn(error, "ENOENT")) throw error;
    }
  }
}
