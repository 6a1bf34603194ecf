/** A wall clock that a test sets for running programs, by the library clock-offset.c. */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { compileLibrary } from "./preload.ts";

export class SettableClock {
  /** Environment variables of the programs. */
  readonly env: { readonly LD_PRELOAD: string; readonly SALTWORKS_CLOCK: string };
  readonly #file: number;

  /** Keeps its files in `directory`. */
  constructor(directory: string) {
    const file = join(directory, "clock");
    this.#file = openSync(file, "w");
    this.env = { LD_PRELOAD: compileLibrary("clock-offset", directory), SALTWORKS_CLOCK: file };
    this.set(0);
  }

  /** Sets the difference from the machine's clock, seconds. */
  set(seconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
