/**
 * A file whose time says until when this master may have written into Salt's directories. A Salt master wrote what is newer there.
 * Without the file a Salt master wrote everything in them. Its text says which parts of Salt were found.
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

  /** Files that changed after this were not written by this master, milliseconds since 1970. */
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

  /** A master that is killed lived at most `aliveMarkMarginMs` longer. Does nothing if the file is not there yet. */
  touch(): void {
    this.#setTime(Date.now() + aliveMarkMarginMs);
  }

  /** This master writes nothing from now on, or from `ms` on. */
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
