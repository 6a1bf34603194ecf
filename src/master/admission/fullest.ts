/** A binary heap of lines of requests: finds the line with the most bytes. Each change takes O(log n). Pure. */

/** `place` is its index in the heap and belongs to the heap. */
export type Sized = { bytes: number; place: number };

export class Fullest<Line extends Sized> {
  readonly #lines: Line[] = [];

  /** The line with the most bytes. */
  get first(): Line | undefined {
    return this.#lines[0];
  }

  add(line: Line): void {
    line.place = this.#lines.push(line) - 1;
    this.#rise(line);
  }

  remove(line: Line): void {
    const last = this.#lines.pop();
    if (last === undefined || last === line) return;
    this.#put(last, line.place);
    this.resized(last);
  }

  /** Notes that the line's bytes have changed. */
  resized(line: Line): void {
    this.#rise(line);
    this.#sink(line);
  }

  #rise(line: Line): void {
    while (line.place > 0) {
      const parent = this.#lines[(line.place - 1) >> 1];
      if (parent === undefined || parent.bytes >= line.bytes) return;
      this.#swap(line, parent);
    }
  }

  #sink(line: Line): void {
    for (;;) {
      const left = this.#lines[2 * line.place + 1];
      const right = this.#lines[2 * line.place + 2];
      const larger = right !== undefined && left !== undefined && right.bytes > left.bytes ? right : left;
      if (larger === undefined || larger.bytes <= line.bytes) return;
      this.#swap(larger, line);
    }
  }

  #swap(one: Line, other: Line): void {
    const { place } = one;
    this.#put(one, other.place);
    this.#put(other, place);
  }

  #put(line: Line, place: number): void {
    this.#lines[place] = line;
    line.place = place;
  }
}
