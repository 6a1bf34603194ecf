/** Controls the whole terminal: alternate screen, keys, size. Every end of the program restores the terminal. */

export type Screen = {
  size(): { readonly columns: number; readonly rows: number };
  draw(lines: readonly string[]): void;
  /** Calls `listener` with the terminal's sequence for each key. */
  onKey(listener: (key: string) => void): void;
  onResize(listener: () => void): void;
  close(): void;
};

/** Begins every control sequence. */
const sequence = "\x1b[";
const enter = `${sequence}?1049h${sequence}?25l`;
const leave = `${sequence}?25h${sequence}?1049l`;
/** For a terminal that does not report its size. */
const defaultSize = { columns: 80, rows: 24 };

/** Needs a terminal as standard output. */
export function openTerminal(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Screen {
  const giveBack = () => {
    if (input.isTTY) input.setRawMode(false);
    output.write(leave);
  };
  process.once("exit", giveBack);
  // Keys are read one by one. If standard input is not a terminal there are no keys, and signals end the program.
  if (input.isTTY) input.setRawMode(true);
  input.setEncoding("utf8");
  input.resume();
  output.write(enter);
  const listeners: { readonly key: ((key: string) => void)[]; readonly resize: (() => void)[] } = {
    key: [],
    resize: [],
  };
  return {
    // A terminal of unknown size reports 0.
    size: () => ({ columns: output.columns || defaultSize.columns, rows: output.rows || defaultSize.rows }),
    draw: (lines) => {
      // Each line clears the rest of its row, which avoids flicker. The last line has no line end, because that would scroll the screen.
      output.write(`${sequence}H${lines.map((line) => `${line}${sequence}K`).join("\r\n")}${sequence}J`);
    },
    onKey: (listener) => {
      listeners.key.push(listener);
      input.on("data", listener);
    },
    onResize: (listener) => {
      listeners.resize.push(listener);
      output.on("resize", listener);
    },
    close: () => {
      for (const listener of listeners.key) input.off("data", listener);
      for (const listener of listeners.resize) output.off("resize", listener);
      input.pause();
      process.off("exit", giveBack);
      giveBack();
    },
  };
}
