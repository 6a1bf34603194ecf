/** Detects a hung thread: it owes answers and has given none for `limitMs`. */

export class HangWatch {
  readonly #limitMs: number;
  readonly #onHang: () => void;
  #timer: NodeJS.Timeout | undefined;
  #answers = 0;

  constructor(limitMs: number, onHang: () => void) {
    this.#limitMs = limitMs;
    this.#onHang = onHang;
  }

  /** Notes that the thread was asked for an answer. */
  asked(): void {
    this.#timer ??= setTimeout(() => this.#look(), this.#limitMs).unref();
  }

  answered(owesMore: boolean): void {
    this.#answers += 1;
    if (owesMore) this.#timer?.refresh();
    else this.end();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const timer = this.#timer;
    const answers = this.#answers;
    // After a stall of the main thread, timers run before the messages that have arrived meanwhile. So the check waits for these.
    setImmediate(() => {
      if (this.#timer === timer && this.#answers === answers) this.#onHang();
    });
  }
}
