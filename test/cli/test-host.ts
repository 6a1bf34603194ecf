/** A process of a test's own, which keeps the output of commands and supplies their input. */
import type { Host } from "../../src/cli/host/host.ts";
import type { Screen } from "../../src/cli/host/terminal.ts";

export class TestHost implements Host {
  out = "";
  err = "";
  isTerminal = false;
  isInputTerminal = false;
  errorTerminal: NodeJS.WriteStream | undefined;
  directory: string | undefined;
  columns = undefined;
  user = "root";
  environment: { readonly [name: string]: string } = {};
  readonly #input: string[];
  readonly #listeners = new Set<() => void>();
  #onWrite: ((out: string) => void) | undefined;

  constructor(input = "") {
    this.#input = input === "" ? [] : input.replace(/\n$/, "").split("\n");
  }

  write(text: string): void {
    this.out += text;
    this.#onWrite?.(this.out);
  }

  complain(text: string): void {
    this.err += text;
  }

  /** The last drawn screen; undefined after it is closed. */
  screen: TestScreen | undefined;
  #onScreen: (() => void) | undefined;

  openScreen(): Screen {
    this.screen = new TestScreen();
    this.#onScreen?.();
    return this.screen;
  }

  /** Called before the command that opens the screen continues. */
  untilScreen(): Promise<void> {
    return new Promise((resolve) => {
      this.#onScreen = resolve;
    });
  }

  readLine(): Promise<string | undefined> {
    return Promise.resolve(this.#input.shift());
  }

  /** What was asked for by `readSecret`, as a process shows it. */
  questions = "";

  readSecret(question = ""): Promise<string | undefined> {
    this.questions += question;
    return this.readLine();
  }

  onInterrupt(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  leaveOnInterrupt(): void {}

  interrupt(): void {
    for (const listener of this.#listeners) listener();
  }

  onWrite(listener: (out: string) => void): void {
    this.#onWrite = listener;
  }
}

/** A terminal of 100 by 40 whose keys a test presses. */
export class TestScreen implements Screen {
  isClosed = false;
  lines: readonly string[] = [];
  columns = 100;
  readonly #keyListeners: ((key: string) => void)[] = [];
  readonly #resizeListeners: (() => void)[] = [];
  #onDraw: (() => void) | undefined;

  size(): { columns: number; rows: number } {
    return { columns: this.columns, rows: 40 };
  }

  draw(lines: readonly string[]): void {
    this.lines = lines;
    this.#onDraw?.();
  }

  onKey(listener: (key: string) => void): void {
    this.#keyListeners.push(listener);
  }

  onResize(listener: () => void): void {
    this.#resizeListeners.push(listener);
  }

  close(): void {
    this.isClosed = true;
  }

  press(key: string): void {
    for (const listener of this.#keyListeners) listener(key);
  }

  resize(columns: number): void {
    this.columns = columns;
    for (const listener of this.#resizeListeners) listener();
  }

  /** Resolves when the drawn lines match. */
  async shows(expected: RegExp): Promise<void> {
    while (!expected.test(this.lines.join("\n"))) {
      await new Promise<void>((resolve) => {
        this.#onDraw = resolve;
      });
    }
  }
}
