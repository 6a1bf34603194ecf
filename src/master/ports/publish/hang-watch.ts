/** Notices a thread that owes answers and gives none for too long. */

export class HangWatch {
  readonly #limitMs: number;
  readonly #onHang: () => void;
  #timer: NodeJS.Timeout | undefined;
  #answers = 0;

  constructor(limitMs: number, onHang: () => void) {
    this.#limitMs = limitMs;
    this.#onHang = onHang;
  }

  /** The thread was asked something. */
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
    // After a stall of this thread its timers run before the messages that the other thread sent meanwhile.
    setImmediate(() => {
      if (this.#timer === timer && this.#answers === answers) this.#onHang();
    });
  }
}
