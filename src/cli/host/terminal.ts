/** A terminal taken over for a while: its other screen, its keys, its size. Whatever ends the program gives it back as it was. */

export type Screen = {
  size(): { readonly columns: number; readonly rows: number };
  draw(lines: readonly string[]): void;
  /** Calls `listener` with each key as the terminal sends it. */
  onKey(listener: (key: string) => void): void;
  onResize(listener: () => void): void;
  close(): void;
};

/** Begins every control sequence. */
const sequence = "\x1b[";
const enter = `${sequence}?1049h${sequence}?25l`;
const leave = `${sequence}?25h${sequence}?1049l`;
/** Of a terminal that does not tell. */
const defaultSize = { columns: 80, rows: 24 };

/** For a process whose standard input and output are a terminal. */
export function openTerminal(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Screen {
  const giveBack = () => {
    if (input.isTTY) input.setRawMode(false);
    output.write(leave);
  };
  process.once("exit", giveBack);
  // Keys are read one by one; where they come from a pipe there are none, and signals end the program.
  if (input.isTTY) input.setRawMode(true);
  input.setEncoding("utf8");
  input.resume();
  output.write(enter);
  const listeners: { readonly key: ((key: string) => void)[]; readonly resize: (() => void)[] } = {
    key: [],
    resize: [],
  };
  return {
    // One that nobody has told its size says 0.
    size: () => ({ columns: output.columns || defaultSize.columns, rows: output.rows || defaultSize.rows }),
    draw: (lines) => {
      // Each line ends with what clears its rest, so that nothing flickers; the last has no end, or the screen would scroll.
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
