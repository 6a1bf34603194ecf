/** A page of returns that is being filled. It is full at `limit` returns, or with the return that reaches `bytesMax`. */
import type { ReturnPage, StoredReturn } from "./job-cache.ts";

export class FilledPage {
  readonly returns: StoredReturn[] = [];
  readonly #bounds: Pick<ReturnPage, "limit" | "bytesMax">;
  #bytes = 0;

  constructor(bounds: Pick<ReturnPage, "limit" | "bytesMax">) {
    this.#bounds = bounds;
  }

  get isFull(): boolean {
    return this.returns.length >= this.#bounds.limit || this.#bytes >= this.#bounds.bytesMax;
  }

  add(stored: StoredReturn): void {
    this.returns.push(stored);
    this.#bytes += stored.body.byteLength;
  }
}
