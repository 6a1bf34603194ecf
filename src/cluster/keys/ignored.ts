/** What a member does not take from the bucket of minion keys: counted, and said in the log. */
import type { Logger } from "pino";
import { OtherVersions } from "../other-version.ts";
import type { BucketEntry } from "../watched-bucket.ts";
import { type Seen, seenOf } from "./seen.ts";

export class IgnoredKeys {
  readonly #logger: Pick<Logger, "warn">;
  readonly #counters: { ignored: number };
  readonly #otherVersions: OtherVersions;

  constructor(logger: Pick<Logger, "warn">, counters: { ignored: number }) {
    this.#logger = logger;
    this.#counters = counters;
    this.#otherVersions = new OtherVersions(logger);
  }

  /** The entry; undefined if it cannot be used. */
  read(id: string, entry: Omit<BucketEntry, "key">): Seen | undefined {
    try {
      return seenOf(id, entry);
    } catch (error) {
      if (this.#otherVersions.note("key", error)) this.#counters.ignored += 1;
      else this.note(`entry of ${id}`, entry.revision, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  note(what: string, revision: number, reason: string): void {
    this.#counters.ignored += 1;
    this.#logger.warn({ what, revision, reason }, "ignored in the cluster's minion keys");
  }
}
