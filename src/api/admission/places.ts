/** Counts places that are held for a time, for each holder. The bound, and what is answered over it, are of the one who asks. */
export class Places {
  readonly #held = new Map<string, number>();

  heldBy(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** @returns a function that gives the place back, once */
  take(holder: string): () => void {
    this.#held.set(holder, this.heldBy(holder) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const rest = this.heldBy(holder) - 1;
      if (rest > 0) this.#held.set(holder, rest);
      else this.#held.delete(holder);
    };
  }
}
