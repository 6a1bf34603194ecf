/** A process of a test's own: what commands write is kept, what they read is given. */
import type { Host } from "../../src/cli/host.ts";

export class TestHost implements Host {
  out = "";
  err = "";
  isTerminal = false;
  columns = undefined;
  user = "root";
  environment = {};
  readonly #input: string[];
  readonly #listeners = new Set<() => void>();
  #onWrite: ((out: string) => void) | undefined;

  constructor(input = "") {
    this.#input = input === "" ? [] : input.replace(/\n$/, "").split("\n");
  }

  write(text: string): void {
    this.out += text;
    this.#onWrite?.(this.out);
  }

  complain(text: string): void {
    this.err += text;
  }

  readLine(): Promise<string | undefined> {
    return Promise.resolve(this.#input.shift());
  }

  onInterrupt(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  interrupt(): void {
    for (const listener of this.#listeners) listener();
  }

  onWrite(listener: (out: string) => void): void {
    this.#onWrite = listener;
  }
}
