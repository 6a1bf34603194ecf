/** When a request's work ends early. The signal is made when it is first asked for: most requests need none, and one costs more than their call. */
export class Deadline {
  #isPassed = false;
  #signal: AbortController | undefined;

  get isPassed(): boolean {
    return this.#isPassed;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = new AbortController();
      if (this.#isPassed) this.#signal.abort();
    }
    return this.#signal.signal;
  }

  pass(): void {
    this.#isPassed = true;
    this.#signal?.abort();
  }
}
