/** The bar of a long runner function. Only on a terminal as standard error. */
import { openProgress, type Phase } from "../host/progress.ts";

export class MeterBar {
  readonly #stream: NodeJS.WriteStream | undefined;
  #progress: ReturnType<typeof openProgress> | undefined;
  #phase: Phase | undefined;
  #done = 0;
  #total = 0;

  /** Draws nothing without a terminal. */
  constructor(stream: NodeJS.WriteStream | undefined) {
    this.#stream = stream;
  }

  show({ done, total, unit }: { readonly done: number; readonly total: number; readonly unit: string }): void {
    if (this.#stream === undefined) return;
    this.#progress ??= openProgress({ stream: this.#stream, isTerminal: true });
    if (this.#phase === undefined || total !== this.#total) {
      this.#phase?.end();
      this.#phase = this.#progress.phase(unit, total === 0 ? undefined : total);
      [this.#done, this.#total] = [0, total];
    }
    // The total is an estimate.
    const shown = total === 0 ? done : Math.min(done, total);
    this.#phase.step(Math.max(0, shown - this.#done));
    this.#done = shown;
  }

  /** Removes the bar. */
  close(): void {
    this.#progress?.close();
  }
}
