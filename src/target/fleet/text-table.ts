/**
 * Numbers distinct texts and finds the ones that pass a test. Keeps each test's verdicts, so that a repeated test reads only new texts. Pure.
 */
import { textVerdictsMax } from "../../limits.ts";
import { Bitmap } from "./bitmap.ts";

/** Texts tested between two pauses. */
const testsPerStep = 64;

type Verdicts = { readonly passed: Bitmap; position: number; edition: number };

export class TextTable {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #free: number[] = [];
  /** Numbers in the order of their assignment. Verdicts keep a position in this list. */
  #assigned: number[] = [];
  /** Incremented when that list is rewritten. */
  #edition = 0;
  readonly #tests = new Map<string, Verdicts>();
  #characters = 0;

  get size(): number {
    return this.#numbers.size;
  }

  /** Bytes, estimated. */
  get bytes(): number {
    return this.#characters + this.#texts.length * 96 + this.#tests.size * (this.#texts.length / 8 + 256);
  }

  textOf(number: number): string {
    return this.#texts[number] ?? "";
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** Returns the text's number and assigns one if needed. */
  number(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#free.pop() ?? this.#texts.length;
    this.#texts[number] = text;
    this.#numbers.set(text, number);
    this.#characters += text.length;
    this.#assigned.push(number);
    if (this.#assigned.length > 1_024 + 2 * this.#texts.length) this.#rewrite();
    return number;
  }

  /** Frees the number of a text that no minion has any more. */
  release(number: number): void {
    const text = this.textOf(number);
    this.#numbers.delete(text);
    this.#characters -= text.length;
    this.#texts[number] = "";
    this.#free.push(number);
  }

  /** Numbers of the texts that pass the test, which `name` identifies. May still hold released numbers. Callers must not change the result. */
  *passing(name: string, test: (text: string) => boolean): Generator<void, Bitmap> {
    const verdicts = this.#verdicts(name);
    let untilPause = testsPerStep;
    for (;;) {
      if (verdicts.edition !== this.#edition) {
        verdicts.edition = this.#edition;
        verdicts.position = 0;
      }
      if (verdicts.position >= this.#assigned.length) return verdicts.passed;
      const number = this.#assigned[verdicts.position] ?? 0;
      verdicts.position += 1;
      if (test(this.textOf(number))) verdicts.passed.add(number);
      else verdicts.passed.delete(number);
      untilPause -= 1;
      if (untilPause === 0) {
        untilPause = testsPerStep;
        yield;
      }
    }
  }

  #verdicts(name: string): Verdicts {
    const known = this.#tests.get(name);
    if (known !== undefined) {
      this.#tests.delete(name);
      this.#tests.set(name, known);
      return known;
    }
    const verdicts = { passed: new Bitmap(), position: 0, edition: this.#edition };
    if (this.#tests.size >= textVerdictsMax) {
      const [oldest = ""] = this.#tests.keys();
      this.#tests.delete(oldest);
    }
    this.#tests.set(name, verdicts);
    return verdicts;
  }

  /** Rewrites the list with each used number once, so that minions that come and go do not grow it without end. Tests then restart. */
  #rewrite(): void {
    this.#edition += 1;
    this.#assigned = [...this.#numbers.values()];
  }
}
