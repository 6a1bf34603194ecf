/** Gathers what the cluster changed in the accepted keys, for the master: what comes is told at once, what goes is gathered for a moment. */
import { keyRemovalSettleMs } from "../../limits.ts";
import type { KeyChange } from "../../store/keys/keys.ts";

export class AppliedChanges {
  readonly #onApplied: (change: KeyChange) => void;
  #added = new Set<string>();
  #removed = new Set<string>();
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #firstRemovalMs = 0;

  constructor(onApplied: (change: KeyChange) => void) {
    this.#onApplied = onApplied;
  }

  /** `before` and `after`: texts of the accepted key. */
  note(id: string, before: string | undefined, after: string | undefined): void {
    if (before === after) return;
    const gone = after === undefined;
    if (gone) {
      if (this.#removed.size === 0) this.#firstRemovalMs = performance.now();
      this.#removed.add(id);
    } else (before === undefined && !this.#removed.has(id) ? this.#added : this.#changed).add(id);
    if (gone) for (const ids of [this.#added, this.#changed]) ids.delete(id);
    else this.#removed.delete(id);
    this.#plan();
  }

  /** Tells what is gathered. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const change = { added: [...this.#added], removed: [...this.#removed], changed: [...this.#changed] };
    for (const ids of [this.#added, this.#removed, this.#changed]) ids.clear();
    if (change.added.length + change.removed.length + change.changed.length > 0)
      this.#onApplied({ ...change, rotate: false });
  }

  #plan(): void {
    const isUrgent = this.#added.size + this.#changed.size > 0;
    const leftMs = this.#firstRemovalMs + keyRemovalSettleMs.longest - performance.now();
    const delayMs = isUrgent ? 0 : Math.max(0, Math.min(keyRemovalSettleMs.quiet, leftMs));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), delayMs);
  }
}
