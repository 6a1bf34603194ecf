/** Lines of a log whose place may refuse them. Lost lines are counted, and their number stands before the next line that is written. */

export class CountedLines {
  readonly #append: (text: string) => void;
  readonly #onLoss: (error: Error) => void;
  #lost = 0;

  /** @param onLoss called for the first line of each row of lost lines */
  constructor(append: (text: string) => void, onLoss: (error: Error) => void = () => undefined) {
    this.#append = append;
    this.#onLoss = onLoss;
  }

  write(line: string): void {
    try {
      if (this.#lost > 0) this.#append(`${JSON.stringify({ level: 40, msg: `${this.#lost} lines were lost here` })}\n`);
      this.#lost = 0;
      this.#append(line);
    } catch (error) {
      if (this.#lost === 0) this.#onLoss(error as Error);
      this.#lost += 1;
    }
  }
}
