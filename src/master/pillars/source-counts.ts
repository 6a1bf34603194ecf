/** Counts the readings of external sources (`ext_pillar`), and adds up their time. */
import type { SourceRun } from "../../pillar/external/contract.ts";

/** `seconds`: of all readings, with commands and servers. */
type Counts = { read: number; failed: number; seconds: number };

export class SourceCounts {
  /** By the source's name. */
  readonly #counts = new Map<string, Counts>();

  add(runs: readonly SourceRun[]): void {
    for (const { source, isFailed, seconds } of runs) {
      const counts = this.#counts.get(source) ?? { read: 0, failed: 0, seconds: 0 };
      this.#counts.set(source, counts);
      counts[isFailed ? "failed" : "read"] += 1;
      counts.seconds += seconds;
    }
  }

  entries(): Iterable<readonly [source: string, counts: Readonly<Counts>]> {
    return this.#counts;
  }
}
