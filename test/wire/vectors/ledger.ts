/** Counts a vector file's cases, and the cases that ran. A case that no test ran fails the file. */
import assert from "node:assert/strict";

export class Ledger {
  readonly #left: Set<string>;
  #ranCount = 0;

  constructor(caseNames: readonly string[]) {
    this.#left = new Set(caseNames);
    assert.equal(this.#left.size, caseNames.length, "case names must differ");
  }

  /** Runs one case; it counts as run only if it passes. */
  run(caseName: string, body: () => void): void {
    assert.ok(this.#left.has(caseName), `no such case, or run twice: ${caseName}`);
    try {
      body();
    } catch (cause) {
      throw new Error(`case ${caseName}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
    this.#left.delete(caseName);
    this.#ranCount += 1;
  }

  get ranCount(): number {
    return this.#ranCount;
  }

  /** Names of the cases that have not run. */
  get left(): string[] {
    return [...this.#left];
  }
}
