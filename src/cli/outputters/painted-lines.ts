/** Collects lines, each indented and in one colour. */
import { type Paint, paintFor } from "./colours.ts";

export class PaintedLines {
  readonly paint: Paint;
  readonly #lines: string[] = [];

  constructor(isColoured: boolean) {
    this.paint = paintFor(isColoured);
  }

  /** Adds a line. `after` follows the text without a colour. */
  add(indent: number, colour: string, text: string, after = ""): void {
    this.#lines.push(" ".repeat(indent) + colour + text + this.paint.end + after);
  }

  /** The lines without a final line end. */
  text(): string {
    return this.#lines.join("\n");
  }
}
